# CODE_ERROR
import socket
s = socket.create_connection(('127.0.0.1', 8321))
result = s.recv(10).hex()
