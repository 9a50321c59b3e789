# CODE_ERROR
from . import server
result = str(server)
