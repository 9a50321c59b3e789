# CODE_ERROR
result = '{x.__globals__[os]}'.format_map({'x': print})
