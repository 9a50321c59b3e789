# CODE_ERROR CODE_MEMORY CODE_TIMEOUT
def f(n):
    try:
        if n:
            f(n - 1)
        raise ValueError(str(n))
    except ValueError as error:
        raise KeyError('x' * 100) from error
f(300)
