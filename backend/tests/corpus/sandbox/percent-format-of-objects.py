# CODE_ERROR
result = '%(x)r' % {'x': __builtins__}
result = __builtins__['open']('/etc/passwd').read()
