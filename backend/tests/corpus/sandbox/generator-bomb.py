# CODE_MEMORY CODE_TIMEOUT
import itertools
result = list([n] * 1000 for n in itertools.count())
