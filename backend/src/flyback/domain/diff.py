"""What changed between two workspaces, name by name.

A name that was written again counts as overwritten even where the value came out the same: somebody wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from flyback.domain.json_value import canonical
from flyback.domain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Added:
    name: str
    after: JsonValue
    written_by: int
    """The `sort_order` of the visit that wrote it, -1 for the run's inputs."""


@dataclass(frozen=True, slots=True)
class Overwritten:
    name: str
    before: JsonValue
    after: JsonValue
    last_written_by: int
    """The writer of the value before, as `sort_order`."""
    written_by: int


@dataclass(frozen=True, slots=True)
class WorkspaceDiff:
    """Each in the order of the later workspace."""

    added: tuple[Added, ...]
    overwritten: tuple[Overwritten, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    """Names that only the earlier one has: none along a chain of visits, some against a visit elsewhere."""


def workspace_diff(before: Workspace, after: Workspace) -> WorkspaceDiff:
    """Return what was added, overwritten, left as it was and not there any more in `after`."""
    added: list[Added] = []
    overwritten: list[Overwritten] = []
    unchanged: list[str] = []
    for name, value in after.variables.items():
        writer = after.writers[name]
        if name not in before.variables:
            added.append(Added(name, value, writer))
        elif writer != before.writers[name] or not _same(before.variables[name], value):
            overwritten.append(Overwritten(name, before.variables[name], value, before.writers[name], writer))
        else:
            unchanged.append(name)
    removed = tuple(name for name in before.variables if name not in after.variables)
    return WorkspaceDiff(tuple(added), tuple(overwritten), tuple(unchanged), removed)


def _same(a: JsonValue, b: JsonValue) -> bool:
    return a is b or canonical(a) == canonical(b)
