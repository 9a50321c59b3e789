# CODE_ERROR
class E(Exception):
    def __str__(self):
        return open('/etc/passwd').read()
    __repr__ = __str__
raise E()
