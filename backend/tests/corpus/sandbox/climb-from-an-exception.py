# CODE_ERROR
try:
    raise ValueError
except ValueError as error:
    frame = error.__traceback__.tb_frame
    while frame.f_back:
        frame = frame.f_back
    result = str(frame.f_globals['__builtins__'])
