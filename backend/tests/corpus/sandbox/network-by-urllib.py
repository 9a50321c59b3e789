# CODE_ERROR
from urllib.request import urlopen
result = urlopen('http://169.254.169.254/').read().decode()
