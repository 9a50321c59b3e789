# CODE_ERROR
result = ().__ｃlass__.__base__.__subclasses__()
