"""What a node's settings give by name, and the texts in them that may hold references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

Given = Mapping[str, JsonValue] | Sequence[Mapping[str, JsonValue]] | None
"""An object of names and values, or a list of `{name, value}`."""


def named_values(given: Given) -> Mapping[str, JsonValue]:
    """Return what is given as a mapping, however it was written."""
    if isinstance(given, Mapping):
        return given
    found: dict[str, JsonValue] = {}
    for item in given or ():
        name = item.get("name")
        if isinstance(name, str):
            found[name] = item.get("value")
    return found


def texts_in(name: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value, with its place as `name.key.0`."""
    match value:
        case str():
            yield name, value
        case dict():
            for key, item in value.items():
                yield from texts_in(f"{name}.{key}", item)
        case list():
            for place, item in enumerate(value):
                yield from texts_in(f"{name}.{place}", item)
        case _:
            return
