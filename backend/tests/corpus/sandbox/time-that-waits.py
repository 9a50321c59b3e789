# CODE_TIMEOUT CODE_MEMORY
import time
while True:
    time.sleep(3600)
