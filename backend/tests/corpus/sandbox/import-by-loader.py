# CODE_ERROR
loader = __loader__
result = str(loader.load_module('os').getcwd())
