# CODE_MEMORY CODE_TIMEOUT
d = {}
n = 0
while True:
    d[n] = [n] * 100
    n += 1
