# CODE_MEMORY CODE_TIMEOUT
bomb = []
while True:
    bomb = [bomb, bomb, [0] * 1000]
