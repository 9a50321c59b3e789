"""Which right a call needs, by its method and path: decided before it is routed, so that no route can forget it.

Looking needs the least. What works with a run that is there, or starts one, is running. Every other writing call changes
something; the house's own things, which everybody uses, are changed by administrators.
"""

from __future__ import annotations

import re

from flyback.services.actor import Right

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN = re.compile(r"/api/auth/.*")
"""One's own sessions and keys: whoever comes in may look after them. A key gives no more than its maker has."""
_HOUSE_READ = re.compile(r"/api/(users|audit)(/.*)?")
_HOUSE_WRITE = re.compile(r"/api/(users|audit|models|mcp-servers)(/.*)?")
_RUNNING = re.compile(
    r"/api/(workflows/[^/]+/run|runs|runs/[^/]+/(cancel|resume|fork)|pauses/[^/]+/answer"
    r"|workflows/validate|workflows/[^/]+/nodes/[^/]+/test|models/[^/]+/test)"
)


def right_for(method: str, path: str) -> Right:
    if method in _READING:
        return "admin" if _HOUSE_READ.fullmatch(path) else "read"
    if _OWN.fullmatch(path):
        return "read"
    if _RUNNING.fullmatch(path):
        return "run"
    return "admin" if _HOUSE_WRITE.fullmatch(path) else "write"
