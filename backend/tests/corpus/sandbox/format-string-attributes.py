# CODE_ERROR
result = '{0.__class__.__init__.__globals__}'.format(lambda: 0)
