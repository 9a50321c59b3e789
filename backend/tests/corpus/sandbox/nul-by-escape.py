# CODE_ERROR
result = eval('1\x00+ open("/etc/passwd").read()')
