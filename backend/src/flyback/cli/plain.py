"""What strangers wrote, as a terminal may show it: a model, a file and a name are not to move its cursor or set its title."""

from __future__ import annotations

import re

from pydantic import JsonValue
from rich.text import Text

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Return a text with whatever would move the cursor, or turn the direction of writing, spelt out."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def all_visible(value: JsonValue) -> JsonValue:
    """Return a JSON value with each of its texts visible."""
    match value:
        case str():
            return visible(value)
        case list():
            return [all_visible(item) for item in value]
        case dict():
            return {key: all_visible(item) for key, item in value.items()}
        case _:
            return value


def cell(text: str | None) -> Text:
    """Return a text for a table, where brackets are no markup."""
    return Text(visible(text or ""))
