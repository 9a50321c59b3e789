# CODE_ERROR
raise SystemExit('0')
