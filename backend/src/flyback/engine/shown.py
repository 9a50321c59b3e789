"""Values as a model is shown them: as text, and cut where they are long.

A variable is cut at its end, with `...`. An output loses its middle, since a new wish often stands at its end. Both modes
and every node that tells a model about the run show values in this one way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.json_value import dumps
from flyback.domain.workspace import Workspace

VARIABLE_CHARACTERS = 500
VARIABLES = 30
OUTPUT_CHARACTERS = 800
_HEAD_CHARACTERS = 500
_TAIL_CHARACTERS = OUTPUT_CHARACTERS - _HEAD_CHARACTERS - 1
_NOTHING: Mapping[str, JsonValue] = {}


def as_text(value: JsonValue) -> str:
    """Return a text as it is, anything else as compact JSON."""
    return value if isinstance(value, str) else dumps(value)


def cut(text: str, limit: int = VARIABLE_CHARACTERS) -> str:
    """Return at most `limit` characters, then `...` where something was cut."""
    return text if len(text) <= limit else text[:limit] + "..."


def cut_middle(text: str) -> str:
    """Return at most 800 characters: the whole, or the first 500 and the last 299 with `…` between."""
    if len(text) <= OUTPUT_CHARACTERS:
        return text
    return f"{text[:_HEAD_CHARACTERS]}…{text[-_TAIL_CHARACTERS:]}"


def output_text(envelope: Envelope | None) -> str:
    """Return what a node gave: its main value as text, then the other fields, in at most 800 characters. Empty for none."""
    if envelope is None or not envelope.variables:
        return ""
    variables = envelope.variables
    main = envelope.main_name
    if main is None:
        return cut_middle("\n".join(_fields(variables.items())))
    others = _fields((name, value) for name, value in variables.items() if name != main)
    return cut_middle("\n".join([as_text(variables[main]), *others]))


def latest_variables(
    workspace: Workspace, *, without_writer: int | None = None, without: Mapping[str, JsonValue] = _NOTHING
) -> list[tuple[str, JsonValue]]:
    """Return the variables written last, the latest first, at most 30.

    Those of one writer may be left out, and those that are shown elsewhere with the same value.
    """
    found: list[tuple[str, JsonValue]] = []
    writers = workspace.writers
    # A workspace's mapping is a dict, which is what makes looking at its end cheap.
    for key, value in reversed(cast("dict[str, JsonValue]", workspace.variables).items()):
        if writers[key] == without_writer or (key in without and without[key] == value):
            continue
        found.append((key, value))
        if len(found) == VARIABLES:
            break
    return found


def _fields(items: Iterable[tuple[str, JsonValue]]) -> list[str]:
    return [f"{name}: {as_text(value)}" for name, value in items]
