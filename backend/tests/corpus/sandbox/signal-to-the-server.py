# CODE_ERROR
import os, signal
os.kill(os.getppid(), signal.SIGKILL)
result = 'sent'
