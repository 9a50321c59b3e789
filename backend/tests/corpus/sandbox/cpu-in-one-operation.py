# CODE_TIMEOUT CODE_MEMORY
result = 7 ** (7 ** 12) % 1000
