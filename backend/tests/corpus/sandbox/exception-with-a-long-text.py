# CODE_ERROR
raise ValueError('x' * 10_000_000)
