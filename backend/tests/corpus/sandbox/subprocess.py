# CODE_ERROR
import subprocess
result = subprocess.run(['id'], capture_output=True).stdout.decode()
