# CODE_ERROR CODE_MEMORY CODE_TIMEOUT
import re
result = re.match('(a+)+$', 'a' * 40 + '!')
while True:
    re.match('(a|a)*$', 'a' * 40 + '!')
