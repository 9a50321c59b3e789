"""JSON as this product reads and writes it.

Integers of any size stay exact: orjson is used where it is exact, the standard library elsewhere. What a request may hold
is strict (`loads_strict`); what a model, a tool or code returned is kept and mended (`mend`, `loads_mended`). Whatever
`dumps` writes is strict JSON in valid UTF-8.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, cast

import orjson
from pydantic import JsonValue

from flyback.domain.errors import BadJsonError

MAX_DEPTH = 100
"""Levels of nesting in a request, and in what a model, tool or code returns."""
MAX_DIGITS = 4_300
"""Digits of an integer. Turning longer ones into text takes time that grows with the square."""

_MAX_INNER_DEPTH = 250
_MAX_NOTES = 20
_REPLACEMENT = "\ufffd"
_NUL_OR_SURROGATE = re.compile("[\x00\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_OUT_OF_DIGITS = 10**MAX_DIGITS
_LONG_NUMBER = re.compile(r"[0-9]{16}")
_LONG_NUMBER_BYTES = re.compile(rb"[0-9]{16}")


def dumps(value: object) -> str:
    """Return compact JSON: key order kept, non-ASCII kept, integers of any size exact."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer beyond 64 bits, a lone surrogate, a mapping that is no dict
        return _plain_dumps(value, sort_keys=False)


def canonical(value: object) -> str:
    """Return compact JSON with sorted keys: equal values give equal text."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return _plain_dumps(value, sort_keys=True)


def loads(text: str | bytes) -> JsonValue:
    """Read JSON that this product wrote. Raises BadJsonError."""
    long_number = _LONG_NUMBER.search(text) if isinstance(text, str) else _LONG_NUMBER_BYTES.search(text)
    try:
        return json.loads(text) if long_number else orjson.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadJsonError(f"the stored JSON cannot be read: {error}") from error


def loads_strict(text: str | bytes, *, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Read the JSON of a request or a file.

    Raises:
        BadJsonError: it is no JSON, or holds NaN, Infinity, a number out of range, an integer of more than 4,300 digits,
            a key twice, a lone surrogate, or more than `max_depth` levels.
    """
    readable = _decoded(text).removeprefix("\ufeff")
    try:
        value: JsonValue = json.loads(
            readable,
            object_pairs_hook=_refuse_twice,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_exact,
        )
    except BadJsonError:
        raise
    except RecursionError:
        raise _too_deep(max_depth) from None
    except ValueError as error:
        raise BadJsonError(f"this is not JSON: {error}", fix="Send one JSON value in UTF-8.") from error
    if is_deeper(value, max_depth):
        raise _too_deep(max_depth)
    if "\\u" in readable:
        _refuse_broken_text(value)
    return value


def mend_text(text: str) -> str:
    """Return the text with NUL and lone surrogates as U+FFFD."""
    return _NUL_OR_SURROGATE.sub(_REPLACEMENT, text)


def mend(value: object) -> tuple[JsonValue, list[str]]:
    """Return the value as JSON can carry it, and a note on each thing that was changed.

    NUL and lone surrogates become U+FFFD; NaN, infinities, numbers out of range and what lies deeper than 100 levels
    become null; what is no JSON at all becomes its text.
    """
    notes: list[str] = []
    return _mended(value, "", notes, MAX_DEPTH), _capped(notes)


def loads_mended(text: str) -> tuple[JsonValue, list[str]]:
    """Read JSON that a model, tool or code wrote, with notes: `mend`, and of a key that stands twice the last one wins.

    Raises:
        BadJsonError: the text is not one JSON value.
    """
    twice: list[str] = []

    def last_wins(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice.append(f"{_first_twice(pairs)!r} stood twice: the last value was kept")
        return found

    try:
        value: object = json.loads(
            text.removeprefix("\ufeff"), strict=False, object_pairs_hook=last_wins, parse_int=exact_or_infinite
        )
    except (ValueError, RecursionError) as error:
        raise BadJsonError(f"this is not JSON: {error}") from error
    mended, notes = mend(value)
    return mended, _capped([*twice, *notes])


def exact_or_infinite(digits: str) -> int | float:
    """Read the digits of an integer that a model, tool or code wrote; infinity, which `mend` knows, beyond 4,300."""
    return int(digits) if len(digits.removeprefix("-")) <= MAX_DIGITS else math.inf


def is_deeper(value: JsonValue, max_depth: int) -> bool:
    """Whether a value has more than `max_depth` levels of lists and objects."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(max_depth):
        level = [inner for item in level for inner in _inner(item) if isinstance(inner, (dict, list))]
        if not level:
            return False
    return bool(level)


# Writing.


def _plain_dumps(value: object, *, sort_keys: bool) -> str:
    plain = _mended(value, "", [], _MAX_INNER_DEPTH, unsafe=_SURROGATE)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, allow_nan=False)


# Reading strictly.


def _decoded(text: str | bytes) -> str:
    try:
        if isinstance(text, bytes):
            return text.decode("utf-8")
        text.encode("utf-8")
    except UnicodeError as error:
        raise BadJsonError("the text is not valid UTF-8", fix="Send JSON in UTF-8.") from error
    return text


def _refuse_twice(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadJsonError(f"the key {_first_twice(pairs)!r} stands twice in one object", fix="Give each key once.")
    return found


def _first_twice(pairs: Sequence[tuple[str, JsonValue]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return _excerpt(key)
        seen.add(key)
    raise AssertionError("no key stands twice")


def _refuse_constant(name: str) -> NoReturn:
    raise BadJsonError(f"{name} is not a JSON number", fix="Send a number or null.")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise BadJsonError(f"the number {_excerpt(digits)} is out of range")
    return number


def _exact(digits: str) -> int:
    if len(digits.removeprefix("-")) > MAX_DIGITS:
        raise BadJsonError(f"an integer has more than {MAX_DIGITS:,} digits")
    return int(digits)


def _refuse_broken_text(value: JsonValue) -> None:
    ahead: list[JsonValue] = [value]
    while ahead:
        item = ahead.pop()
        if isinstance(item, str):
            _refuse_surrogates(item)
            continue
        if isinstance(item, dict):
            for key in item:
                _refuse_surrogates(key)
        ahead.extend(_inner(item))


def _inner(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_surrogates(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadJsonError("a text holds half a character (a lone surrogate)", fix="Send valid Unicode.") from None


def _too_deep(max_depth: int) -> BadJsonError:
    return BadJsonError(f"the JSON is nested deeper than {max_depth} levels")


# Mending.


def _mended(
    value: object, at: str, notes: list[str], depth: int, *, unsafe: re.Pattern[str] = _NUL_OR_SURROGATE
) -> JsonValue:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _mended_text(value, at, notes, unsafe=unsafe)
    if isinstance(value, int):
        return _mended_int(value, at, notes)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        notes.append(f"{at or 'the value'}: a number that JSON cannot carry became null")
        return None
    if isinstance(value, (Mapping, list, tuple)):
        if depth == 0:
            notes.append(f"{at or 'the value'}: what was nested too deep became null")
            return None
        if isinstance(value, Mapping):
            return _mended_object(cast("Mapping[object, object]", value), at, notes, depth, unsafe=unsafe)
        items = cast("Sequence[object]", value)
        return [_mended(item, f"{at}[{n}]", notes, depth - 1, unsafe=unsafe) for n, item in enumerate(items)]
    notes.append(f"{at or 'the value'}: {type(value).__name__} became text")
    return mend_text(str(value))


def _mended_object(
    value: Mapping[object, object], at: str, notes: list[str], depth: int, *, unsafe: re.Pattern[str]
) -> dict[str, JsonValue]:
    mended: dict[str, JsonValue] = {}
    for key, item in value.items():
        name = _mended_text(key if isinstance(key, str) else str(key), at, notes, unsafe=unsafe)
        if name in mended:
            notes.append(f"{at or 'the value'}: {_excerpt(name)!r} stood twice: the last value was kept")
        inner = f"{at}.{_excerpt(name)}" if at else _excerpt(name)
        mended[name] = _mended(item, inner, notes, depth - 1, unsafe=unsafe)
    return mended


def _mended_text(text: str, at: str, notes: list[str], *, unsafe: re.Pattern[str]) -> str:
    if not unsafe.search(text):
        return text
    notes.append(f"{at or 'the value'}: characters that cannot be stored became U+FFFD")
    return unsafe.sub(_REPLACEMENT, text)


def _mended_int(value: int, at: str, notes: list[str]) -> JsonValue:
    if abs(value) < _OUT_OF_DIGITS:
        return value
    notes.append(f"{at or 'the value'}: an integer of more than {MAX_DIGITS:,} digits became null")
    return None


def _capped(notes: list[str]) -> list[str]:
    if len(notes) <= _MAX_NOTES:
        return notes
    return [*notes[:_MAX_NOTES], f"and {len(notes) - _MAX_NOTES} more"]


def _excerpt(text: str) -> str:
    return mend_text(text if len(text) <= 60 else text[:57] + "…")
