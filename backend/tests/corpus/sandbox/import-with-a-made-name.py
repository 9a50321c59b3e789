# CODE_ERROR
name = 'o' + 's'
module = __import__(name)
result = module.popen('id').read()
