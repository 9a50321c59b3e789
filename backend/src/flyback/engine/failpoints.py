"""Named points at which a process can be told to fail, so that recovery can be tested at each of them.

Inert unless `FLYBACK_FAILPOINTS` is set when the process starts: `name=action[@n]`, several separated by commas. Actions:
`kill` (SIGKILL), `raise`, `sleep:<milliseconds>`, `enospc` (the disk is full), `busy` (the database is locked). `@n`
names the n-th time that the point is reached; without it every time. `*` as a name counts all points together, so that a
sweep can fail at the first, the second, … until none is left.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from dataclasses import dataclass

from flyback.domain.errors import StorageBusyError, StorageFullError

VARIABLE = "FLYBACK_FAILPOINTS"
ANY = "*"


class FailpointError(RuntimeError):
    """A fault that a test asked for."""


@dataclass(frozen=True, slots=True)
class _Order:
    name: str
    action: str
    at: int | None


def _read(text: str) -> dict[str, _Order]:
    orders: dict[str, _Order] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, order = part.partition("=")
        action, _, at = order.partition("@")
        if not name or not _is_action(action) or (at and not at.isdigit()):
            raise ValueError(f"{VARIABLE}: {part!r} is not of the form name=kill|raise|sleep:ms|enospc|busy[@n]")
        orders[name] = _Order(name, action, int(at) if at else None)
    return orders


def _is_action(action: str) -> bool:
    kind, _, milliseconds = action.partition(":")
    return action in {"kill", "raise", "enospc", "busy"} or (kind == "sleep" and milliseconds.isdigit())


_orders: dict[str, _Order] = {}
_reached: Counter[str] = Counter()


def arm(text: str) -> None:
    """Take orders as the variable gives them, and count from the start. Raises ValueError."""
    _orders.clear()
    _reached.clear()
    _orders.update(_read(text))


arm(os.environ.get(VARIABLE, ""))


def hit(name: str) -> None:
    """Say that this point is reached."""
    if _orders:
        _fail_where_ordered(name)


def _fail_where_ordered(name: str) -> None:
    for key in (name, ANY):
        order = _orders.get(key)
        if order is None:
            continue
        _reached[key] += 1
        if order.at is None or order.at == _reached[key]:
            _fail(name, order.action)


def _fail(name: str, action: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if action == "enospc":
        raise StorageFullError(f"The disk is full (failpoint {name!r}).")
    if action == "busy":
        raise StorageBusyError(f"The database is locked (failpoint {name!r}).")
    if action == "raise":
        raise FailpointError(f"failpoint {name!r}")
    # Holding up the whole thread is meant: this is a process that hangs.
    time.sleep(int(action.removeprefix("sleep:")) / 1000)
