# CODE_ERROR
from pathlib import Path
Path('/tmp/left-behind').write_text('x')
result = 'written'
