# CODE_TIMEOUT CODE_MEMORY
def loop():
    while True:
        try:
            while True:
                1 + 1
        except BaseException:
            continue
loop()
