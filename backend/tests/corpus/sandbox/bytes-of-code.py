# CODE_ERROR
f = (lambda: 0)
f.__code__ = f.__code__.replace(co_code=b'\x00' * 100)
result = f()
