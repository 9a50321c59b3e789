# CODE_ERROR
from pathlib import Path
result = Path('/proc/self/environ').read_text()
