# CODE_MEMORY CODE_TIMEOUT
text = 'ab'
while True:
    text += text
