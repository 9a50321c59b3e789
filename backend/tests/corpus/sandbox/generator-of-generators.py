# CODE_TIMEOUT CODE_MEMORY
g = (n for n in range(10))
for _ in range(12):
    g = (n + m for n in list(g)[:10] for m in range(10 ** 9))
result = sum(g)
