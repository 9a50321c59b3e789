# OUTPUT_TOO_LARGE CODE_TIMEOUT CODE_MEMORY
result = ['x' * 1000 for _ in range(5000)]
