# CODE_ERROR CODE_MEMORY CODE_TIMEOUT
x = []
y = [x]
x.append(y)
for _ in range(10_000):
    y = [y]
result = y
