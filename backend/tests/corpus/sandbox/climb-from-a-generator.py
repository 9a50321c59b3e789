# CODE_ERROR
def g():
    yield g.gi_frame.f_back.f_builtins
result = str(list(g()))
