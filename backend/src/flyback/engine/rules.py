"""Rules that code decides: a variable, an operator, a value.

A number and the text of a number are compared as numbers, since models and people write both; everything else is compared
as it stands. Texts have an order too, so that dates written as ISO can be compared. What has no order compares as false,
and so does a comparison with a variable that does not exist.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Literal

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError
from flyback.domain.json_value import loads_mended
from flyback.engine.shown import as_text

Operator = Literal[
    "eq", "ne", "gt", "ge", "lt", "le", "contains", "notContains", "startsWith", "endsWith", "in", "empty", "notEmpty"
]

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?")
_SEPARATORS = re.compile(r"[,，、\n]")


def holds(operator: Operator, left: JsonValue, right: JsonValue) -> bool:
    """Whether `left operator right`."""
    return _OPERATORS[operator](left, right)


def is_empty(value: JsonValue) -> bool:
    """Whether a value says nothing: null, a blank text, an empty list or object. Zero and false say something."""
    return value is None or value in ("", [], {}) or (isinstance(value, str) and not value.strip())


def _equal(left: JsonValue, right: JsonValue) -> bool:
    a, b = _number(left), _number(right)
    if a is not None and b is not None:
        return a == b
    if isinstance(left, bool) or isinstance(right, bool):
        return _word(left) == _word(right)
    if left is None or right is None:
        return is_empty(left) and is_empty(right)
    return left == right or as_text(left) == as_text(right)


def _order(left: JsonValue, right: JsonValue) -> int | None:
    """Return -1, 0 or 1; None for what has no order."""
    a, b = _number(left), _number(right)
    if a is not None and b is not None:
        return (a > b) - (a < b)
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    return None


def _contains(left: JsonValue, right: JsonValue) -> bool:
    if left is None:
        return False
    if isinstance(left, list):
        return any(_equal(item, right) for item in left)
    if isinstance(left, dict):
        return as_text(right) in left
    return as_text(right) in as_text(left)


def _is_in(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(right, str):
        listed = _listed(right)
        if listed is None:
            return any(_equal(left, part.strip()) for part in _SEPARATORS.split(right) if part.strip())
        right = listed
    return _contains(right, left)


def _listed(text: str) -> list[JsonValue] | None:
    """A JSON list that was written as text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value, _ = loads_mended(text)
    except BadJsonError:
        return None
    return value if isinstance(value, list) else None


def _number(value: JsonValue) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value if not isinstance(value, float) or math.isfinite(value) else None
    text = value.strip() if isinstance(value, str) else ""
    if not _NUMBER.fullmatch(text):
        return None
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _word(value: JsonValue) -> str:
    return as_text(value).strip().lower()


def _starts(left: JsonValue, right: JsonValue) -> bool:
    return left is not None and as_text(left).startswith(as_text(right))


def _ends(left: JsonValue, right: JsonValue) -> bool:
    return left is not None and as_text(left).endswith(as_text(right))


_OPERATORS: Mapping[Operator, Callable[[JsonValue, JsonValue], bool]] = {
    "eq": _equal,
    "ne": lambda left, right: not _equal(left, right),
    "gt": lambda left, right: _order(left, right) == 1,
    "ge": lambda left, right: _order(left, right) in (0, 1),
    "lt": lambda left, right: _order(left, right) == -1,
    "le": lambda left, right: _order(left, right) in (0, -1),
    "contains": _contains,
    "notContains": lambda left, right: not _contains(left, right),
    "startsWith": _starts,
    "endsWith": _ends,
    "in": _is_in,
    "empty": lambda left, _: is_empty(left),
    "notEmpty": lambda left, _: not is_empty(left),
}
