# CODE_ERROR
import os
result = os.environ['FLYBACK_SECRET_KEY']
