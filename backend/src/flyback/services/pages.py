"""Pages of a list and the cursor that leads from one to the next.

A cursor is opaque to who holds it: the position of the last item, as text that survives a URL. It is checked when it
comes back, since anybody can write one.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import orjson

from flyback.domain.errors import InvalidError

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
_MAX_CURSOR = 500
_INT64 = 2**63 - 1

T = TypeVar("T")
Key = str | int
"""One part of a position: the value of a column that the list is sorted by."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: Sequence[T]
    next_cursor: str | None
    total: int


def page_of(found: Sequence[T], total: int, *, limit: int, position: Callable[[T], tuple[Key, ...]]) -> Page[T]:
    """Make a page of up to `limit` items. `found` holds one more where there are more; `total` is how many in all."""
    items = found[:limit]
    more = len(found) > limit
    return Page(items, encode_cursor(*position(items[-1])) if more else None, total)


def encode_cursor(*position: Key) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(position)).rstrip(b"=").decode()


def decode_cursor(cursor: str, *kinds: type[Key]) -> tuple[Key, ...]:
    """Return the position in a cursor whose parts have these types.

    Raises:
        InvalidError: it is none of ours.
    """
    try:
        if len(cursor) > _MAX_CURSOR:
            raise ValueError
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        position: object = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise _refused() from None
    if not isinstance(position, list):
        raise _refused()
    parts = cast("list[Key]", position)
    if [type(part) for part in parts] != list(kinds) or not all(_fits(part) for part in parts):
        raise _refused()
    return tuple(parts)


def _fits(part: Key) -> bool:
    """Whether a database can be asked for it."""
    return "\x00" not in part if isinstance(part, str) else abs(part) <= _INT64


def _refused() -> InvalidError:
    return InvalidError(
        "The cursor is not one that this list gave.", field="cursor", fix="Start again without a cursor."
    )
