# CODE_ERROR
class A:
    pass
result = '{a.__class__.__mro__[1]}'.format(a=A())
result = result[10**6]
