"""Graph files on the command line: read, check, say what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from flyback.domain.errors import Fault, GraphInvalidError, InvalidError
from flyback.domain.graph import Graph, NodeId
from flyback.domain.graph_file import read_document
from flyback.domain.json_value import loads_strict
from flyback.domain.structure import start_nodes
from flyback.engine.check import Checked, check

_STANDARD_INPUT = Path("-")


@dataclass(frozen=True, slots=True)
class CheckedFile:
    document: Mapping[str, JsonValue]
    graph: Graph
    starts: Sequence[NodeId]


@dataclass(frozen=True, slots=True)
class FileReport:
    """What the check of a file found."""

    checked: Checked

    @property
    def valid(self) -> bool:
        return self.checked.valid

    def lines(self) -> Iterator[str]:
        for mark, faults in (("✗", self.checked.errors), ("!", self.checked.warnings)):
            for fault in faults:
                yield f"{mark} {_place(fault)}{fault.message}"
                if fault.fix:
                    yield f"  → {fault.fix}"
        yield "✓ The graph can run." if self.valid else f"{len(self.checked.errors)} errors: the graph cannot run."

    def on_wire(self) -> Mapping[str, JsonValue]:
        return {
            "valid": self.valid,
            "errors": [_on_wire(fault) for fault in self.checked.errors],
            "warnings": [_on_wire(fault) for fault in self.checked.warnings],
            "levels": [list(level) for level in self.checked.levels],
        }


def read_json(file: Path) -> JsonValue:
    """Read a JSON file, or standard input for `-`. Raises InvalidError, BadJsonError."""
    try:
        content = sys.stdin.buffer.read() if file == _STANDARD_INPUT else file.read_bytes()
    except OSError as error:
        raise InvalidError(f"{str(file)!r} cannot be read: {error.strerror}.", fix="Check the path.") from error
    return loads_strict(content)


def check_file(file: Path) -> FileReport:
    """Check a graph file: every fault at once."""
    document = read_document(read_json(file))
    return FileReport(check(dict(document.graph_data), document.mode, script=document.script))


def read_checked(file: Path) -> CheckedFile:
    """Read a graph file that can run. Raises GraphInvalidError with every error, and what `read_json` raises."""
    content = read_json(file)
    document = read_document(content)
    checked = check(dict(document.graph_data), document.mode, script=document.script)
    if not checked.valid:
        raise GraphInvalidError(
            f"{str(file)!r} cannot run.",
            faults=checked.errors,
            fix=f"Mend it; check again with: flyback validate {file}",
        )
    return CheckedFile(
        cast("Mapping[str, JsonValue]", content), checked.graph, start_nodes(checked.graph, document.mode)
    )


def _place(fault: Fault) -> str:
    parts = [f"node {fault.node!r}"] if fault.node else []
    if fault.field:
        parts.append(fault.field)
    return f"{', '.join(parts)}: " if parts else ""


def _on_wire(fault: Fault) -> JsonValue:
    return {"message": fault.message, "node": fault.node, "field": fault.field, "fix": fault.fix}
