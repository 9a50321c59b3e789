# CODE_ERROR
for one in ().__class__.__base__.__subclasses__():
    if one.__name__ == 'Popen':
        result = one('id')
