# CODE_TIMEOUT CODE_MEMORY
result = sorted(range(10 ** 8), key=lambda n: -n)[0]
