"""Cutting what is too large to be shown: by whole values, the latest written first kept.

A value that does not fit is replaced by `{"__truncated__": true, "size": bytes of its JSON, "head": its first 500
characters}`. Every name stays as long as names and marks fit; only then are the oldest left out. Nothing is lost by this:
what a node gave is stored whole elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from flyback.domain.json_value import dumps
from flyback.domain.value import value_type

LIMIT_BYTES = 64 * 1024

_HEAD_CHARACTERS = 500


@value_type
class Snapshot:
    json: str
    """An object in at most the limit, in the order of the variables."""
    truncated: bool


def snapshot(variables: Mapping[str, JsonValue], *, limit: int = LIMIT_BYTES) -> Snapshot:
    """Return the variables as JSON of at most `limit` bytes."""
    if sum(len(value) for value in variables.values() if isinstance(value, str)) < limit:
        # Nearly every workspace fits; written at once it costs a tenth of what the choice of values does.
        whole = dumps(dict(variables))
        if len(whole) < limit and (whole.isascii() or len(whole.encode()) < limit):
            return Snapshot(whole, truncated=False)
    fitted = list(_fitted(variables, limit))
    text = "{" + ",".join(f"{kept.key_json}:{kept.json}" for kept in fitted) + "}"
    return Snapshot(text, len(fitted) < len(variables) or any(kept.is_cut for kept in fitted))


def cut_values(values: Mapping[str, JsonValue], limit: int = LIMIT_BYTES) -> tuple[dict[str, JsonValue], bool]:
    """Return the values, in at most `limit` bytes as JSON, and whether anything was cut."""
    fitted = list(_fitted(values, limit))
    kept: dict[str, JsonValue] = {one.name: one.mark if one.is_cut else values[one.name] for one in fitted}
    return kept, len(fitted) < len(values) or any(one.is_cut for one in fitted)


@value_type
class _Kept:
    name: str
    key_json: str
    json: str
    mark: dict[str, JsonValue]
    is_cut: bool


def _fitted(values: Mapping[str, JsonValue], limit: int) -> Iterator[_Kept]:
    whole = [_whole(name, value) for name, value in values.items()]
    if sum(_cost(kept) for kept in whole) + 2 <= limit:
        yield from whole
        return
    smallest = [min(kept, _marked(kept, ""), key=_cost) for kept in whole]
    room = limit - 2 - sum(_cost(kept) for kept in smallest)
    first = 0
    while room < 0 and first < len(whole):
        room += _cost(smallest[first])
        first += 1
    chosen: list[_Kept] = []
    for place in range(len(whole) - 1, first - 1, -1):
        least = _cost(smallest[place])
        forms = (whole[place], _marked(whole[place], _head(values[whole[place].name])), smallest[place])
        best = next(form for form in forms if _cost(form) - least <= room)
        room -= _cost(best) - least
        chosen.append(best)
    yield from reversed(chosen)


def _whole(name: str, value: JsonValue) -> _Kept:
    return _Kept(name, dumps(name), dumps(value), {}, is_cut=False)


def _marked(kept: _Kept, head: str) -> _Kept:
    mark: dict[str, JsonValue] = {"__truncated__": True, "size": len(kept.json.encode()), "head": head}
    return _Kept(kept.name, kept.key_json, dumps(mark), mark, is_cut=True)


def _head(value: JsonValue) -> str:
    return (value if isinstance(value, str) else dumps(value))[:_HEAD_CHARACTERS]


def _cost(kept: _Kept) -> int:
    return len(kept.key_json.encode()) + len(kept.json.encode()) + 2
