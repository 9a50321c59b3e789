# CODE_ERROR
class A:
    def __getattr__(self, name):
        return object.__getattribute__(self, '__class__').__mro__[1].__subclasses__
result = str(A().x())
