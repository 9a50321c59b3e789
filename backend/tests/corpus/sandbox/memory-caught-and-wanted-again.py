# CODE_MEMORY CODE_TIMEOUT
while True:
    try:
        x = ['y' * 10_000_000 for _ in range(1000)]
    except MemoryError:
        pass
