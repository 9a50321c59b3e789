# CODE_ERROR
access = 'user‮⁦# nobody⁩⁦'
if access != 'user':
    result = open('/etc/passwd').read()
