# CODE_ERROR
result = 𝐨𝐩𝐞𝐧('/etc/passwd').read()
