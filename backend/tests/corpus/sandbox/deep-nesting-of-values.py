# CODE_ERROR CODE_MEMORY CODE_TIMEOUT
x = 1
for _ in range(100_000):
    x = {'x': x}
result = x
