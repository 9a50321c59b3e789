"""How a run moves. What it needs from outside it states in `ports.py`; what it writes, in `log.py`."""
