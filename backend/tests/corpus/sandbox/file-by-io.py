# CODE_ERROR
import io
result = io.open('/etc/passwd').read()
