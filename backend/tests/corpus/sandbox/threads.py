# CODE_ERROR
import threading
threading.Thread(target=print).start()
result = 'started'
