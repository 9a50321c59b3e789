"""What every request passes before its route, from the outside in. Each gate refuses by raising, or lets through.

Plain ASGI, since a gate must see a request before its body is read and must not hold an answer that streams.
"""
