# CODE_ERROR CODE_MEMORY CODE_TIMEOUT
def a(n):
    return b(n + 1)
def b(n):
    return a(n + 1)
result = a(0)
