"""What a person may write over a workspace when a run is forked.

Names are workspace keys, as they stand there: `"{node_id}__{name}"`, or the bare name of an input. A name that the
workspace lacks is taken where a node of the graph could write it, so that a person can stand in for a node that failed.
What a userInput wrote stands under two names; an edit of one is an edit of both, unless the other is edited too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import JsonValue

from flyback.domain.errors import Fault, InputInvalidError
from flyback.domain.graph import Graph
from flyback.domain.inputs import MAX_NAME, variables_of
from flyback.domain.json_value import dumps, mend
from flyback.domain.structure import USER_INPUT
from flyback.domain.workspace import SEPARATOR

MAX_BYTES = 5 * 1024 * 1024
"""Of all edits together: what one node may give."""
_LONGEST_NAME = 2 * MAX_NAME + len(SEPARATOR)
_FIX = "Write a name as the workspace has it, such as draft__text."


def read_edits(graph: Graph, writers: Mapping[str, int], given: Mapping[str, JsonValue] | None) -> dict[str, JsonValue]:
    """Return what to write over a workspace, by key; `writers` are its keys with who wrote them.

    Raises:
        InputInvalidError: with each name that nothing writes, or where it is too much.
    """
    if not given:
        return {}
    edits = cast("dict[str, JsonValue]", mend(dict(given))[0])
    faults = [fault for name in edits if (fault := _fault(graph, writers, name)) is not None]
    if faults:
        first = faults[0]
        raise InputInvalidError(first.message, node=first.node, field=first.field, fix=first.fix, faults=faults)
    size = len(dumps(edits).encode())
    if size > MAX_BYTES:
        what = f"The variables are {size:,} bytes; at most {MAX_BYTES:,} can be edited at once."
        raise InputInvalidError(what, field="variables", fix="Edit fewer of them, or shorter ones.")
    twins = {twin: value for name, value in edits.items() for twin in _twins(graph, writers, name)}
    return {**{name: value for name, value in twins.items() if name not in edits}, **edits}


def _fault(graph: Graph, writers: Mapping[str, int], name: str) -> Fault | None:
    if name in writers or name in _inputs(graph):
        return None
    field = f"variables.{name[:_LONGEST_NAME]}"
    if not name or len(name) > _LONGEST_NAME:
        return Fault(f"A variable's name has 1 to {_LONGEST_NAME} characters.", field=field, fix=_FIX)
    node_id, separator, variable = name.partition(SEPARATOR)
    if separator and variable and any(name.startswith(node.id + SEPARATOR) for node in graph.runnable):
        return None
    if separator and variable:
        return Fault(f"Variable {name!r}: the graph has no node {node_id!r}.", field=field, fix=_FIX)
    return Fault(f"Variable {name!r} is neither in the workspace nor declared by a userInput.", field=field, fix=_FIX)


def _inputs(graph: Graph) -> set[str]:
    return {variable.name for node in graph.of_type(USER_INPUT) for variable in variables_of(node)}


def _twins(graph: Graph, writers: Mapping[str, int], name: str) -> Iterator[str]:
    """Yield the other name under which the same userInput visit wrote the same variable."""
    for node in graph.of_type(USER_INPUT):
        prefix = node.id + SEPARATOR
        twin = name.removeprefix(prefix) if name.startswith(prefix) else prefix + name
        if name in writers and writers.get(twin) == writers[name]:
            yield twin
