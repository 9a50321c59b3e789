# CODE_ERROR
import typing
result = typing.sys.modules['os'].popen('id').read()
