"""What a person gives a run on the command line: `-i name=value`, `-q node:name=value`, and answers at the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from pydantic import JsonValue
from rich.console import Console
from rich.prompt import Prompt

from flyback.domain.errors import BadJsonError, InputInvalidError, InvalidError
from flyback.domain.graph import Graph
from flyback.domain.json_value import loads_strict


def read_pairs(pairs: Sequence[str]) -> dict[str, JsonValue]:
    """Read `name=value` pairs; the last of a name wins. Values stay text: the graph says what they become."""
    return dict(_pair(pair, "-i name=value") for pair in pairs)


def read_edits(pairs: Sequence[str]) -> dict[str, JsonValue]:
    """Read `name=text` and `name:=JSON` pairs; the last of a name wins."""
    edits: dict[str, JsonValue] = {}
    for name, value in (_pair(pair, "-i name=text, or -i name:=JSON") for pair in pairs):
        if name.endswith(":"):
            edits[name[:-1]] = _json(name[:-1], value)
        else:
            edits[name] = value
    return edits


def read_version(text: str | None) -> int | Literal["latest"] | None:
    """Read a version's number, or `latest`."""
    if text is None or text == "latest":
        return text
    if not text.isdecimal() or len(text) > 9 or int(text) == 0:
        raise InvalidError(f"{text!r} is no version.", field="version", fix="Write a number from 1, or latest.")
    return int(text)


def read_queued(pairs: Sequence[str]) -> dict[str, list[Mapping[str, JsonValue]]]:
    """Read `node:name=value` pairs: node to its entries. A name that an entry already has begins the next entry."""
    queued: dict[str, list[dict[str, JsonValue]]] = {}
    for pair in pairs:
        node_id, colon, rest = pair.partition(":")
        if not colon:
            raise InputInvalidError(f"{pair!r} names no node.", fix="Write -q node:name=value.")
        name, value = _pair(rest, "-q node:name=value")
        entries = queued.setdefault(node_id, [])
        if not entries or name in entries[-1]:
            entries.append({})
        entries[-1][name] = value
    return cast("dict[str, list[Mapping[str, JsonValue]]]", queued)


def ask_for_missing(console: Console, graph: Graph, starts: Sequence[str], given: dict[str, JsonValue]) -> None:
    """Ask for every required value of the start nodes that was not given, and put it into `given`."""
    for node in graph.of_type("userInput"):
        if node.id not in starts:
            continue
        variables = node.data.get("variables")
        for variable in variables if isinstance(variables, list) else []:
            if isinstance(variable, dict):
                _ask(console, variable, given)


def _ask(console: Console, variable: Mapping[str, JsonValue], given: dict[str, JsonValue]) -> None:
    name = variable.get("name")
    if (
        not isinstance(name, str)
        or name in given
        or not variable.get("required")
        or variable.get("default") is not None
    ):
        return
    label = variable.get("label")
    given[name] = Prompt.ask(label if isinstance(label, str) and label else name, console=console)


def _pair(text: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputInvalidError(f"{text!r} is no name with a value.", fix=f"Write {form}.")
    return name, value


def _json(name: str, text: str) -> JsonValue:
    try:
        return loads_strict(text)
    except BadJsonError as error:
        raise InputInvalidError(
            f"{name}: {error.message}", field=name, fix=f"Write {name}=text where it is a text."
        ) from error
