# CODE_ERROR
import json
result = json.codecs.open('/etc/passwd').read()
