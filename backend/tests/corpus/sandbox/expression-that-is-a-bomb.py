# CODE_ERROR CODE_MEMORY CODE_TIMEOUT
import re
result = re.compile('(((a{1,1000}){1,1000}){1,1000})').match('a' * 1000).end()
