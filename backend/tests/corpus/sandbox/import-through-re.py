# CODE_ERROR
import re
result = re.enum.sys.modules['os'].environ['PATH']
