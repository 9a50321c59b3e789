"""YAML as plain data: mappings, lists and texts, nothing else.

No tags, no anchors or aliases, no duplicate keys, bounded depth; and text stays text: `1.0`, `yes` and `2026-01-01` are
what was written. What no text can carry, half a character that an escape names, becomes U+FFFD. It is built from the
parser's events, so that nothing else of the library can run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import yaml
from yaml import events

from flyback.domain.json_value import mend_text

MAX_DEPTH = 50

Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"


class PlainYamlError(Exception):
    """It is no YAML, or more than plain data. The text says what, and where."""


class NotPlainError(PlainYamlError):
    """It is YAML, and holds what plain data has not."""


class NoMappingError(PlainYamlError):
    """It is plain data, but no keys and values."""


def load(text: str) -> Plain:
    """Read one document. Empty gives an empty text.

    Raises:
        PlainYamlError: it is not plain data.
    """
    try:
        return _Builder(_events(text)).document()
    except yaml.YAMLError as error:
        raise PlainYamlError(_said(error)) from None


def _events(text: str) -> Iterator[events.Event]:
    parser = cast("_Parser", yaml.SafeLoader(text))
    try:
        while parser.check_event():
            yield parser.get_event()
    finally:
        parser.dispose()


class _Parser(Protocol):
    def check_event(self) -> bool: ...
    def get_event(self) -> events.Event: ...
    def dispose(self) -> None: ...


def _said(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem or error.context} in line {error.problem_mark.line + 1}"
    return str(error).splitlines()[0]


@dataclass(slots=True)
class _Builder:
    events: Iterator[events.Event]

    def document(self) -> Plain:
        found: Plain = ""
        documents = 0
        for event in self.events:
            match event:
                case events.StreamStartEvent() | events.StreamEndEvent() | events.DocumentEndEvent():
                    pass
                case events.DocumentStartEvent():
                    documents += 1
                    if documents > 1:
                        raise _refused("a second document", event)
                case _:
                    found = self._value(event, 0)
        return found

    def _value(self, event: events.Event, depth: int) -> Plain:
        if depth > MAX_DEPTH:
            raise _refused(f"more than {MAX_DEPTH} levels", event)
        match event:
            case events.AliasEvent():
                raise _refused("an alias", event)
            case events.NodeEvent(anchor=str()):
                raise _refused("an anchor", event)
            case events.ScalarEvent(tag=str()) | events.CollectionStartEvent(tag=str()):
                raise _refused("a tag", event)
            case events.ScalarEvent(value=value):
                return mend_text(value)
            case events.SequenceStartEvent():
                return self._list(depth)
            case events.MappingStartEvent():
                return self._mapping(depth)
            case _:
                raise _refused("something unknown", event)

    def _list(self, depth: int) -> Plain:
        items: list[Plain] = []
        while not isinstance(event := next(self.events), events.SequenceEndEvent):
            items.append(self._value(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> Plain:
        mapping: dict[str, Plain] = {}
        while not isinstance(event := next(self.events), events.MappingEndEvent):
            key = self._value(event, depth + 1)
            if not isinstance(key, str):
                raise _refused("a key that is no text", event)
            if key in mapping:
                raise _refused(f"the key {key!r} twice", event)
            mapping[key] = self._value(next(self.events), depth + 1)
        return mapping


def _refused(what: str, event: events.Event) -> NotPlainError:
    mark = event.start_mark
    where = "" if mark is None else f" in line {mark.line + 1}"
    return NotPlainError(f"{what}{where}, which plain data has not")
