# CODE_ERROR
match ():
    case object(__class__=kind):
        result = str(kind.__base__.__subclasses__())
result = kind.__base__.__subclasses__()[0].__init__.__globals__['os']
