"""Flyback as a library: run a graph from Python, on the models and the history of a data folder.

async for event in run(Workflow.load("samples/loop-back.json"), inputs={"task": "Invite the team."}):
    print(event["type"], event["data"])
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from flyback.cli.doors import StartRequest
from flyback.cli.results import with_whole_outputs
from flyback.domain.errors import InvalidError
from flyback.domain.graph_file import read_document
from flyback.domain.json_value import loads_strict
from flyback.main.doors import open_runs
from flyback.main.product import ProductOptions

Event = Mapping[str, Any]
"""One event as it stands on the wire: `{runId, type, seq, timestamp, data}`."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """A graph file: `{name, mode, graphData: {nodes, edges}, …}`."""

    document: Mapping[str, JsonValue]

    @classmethod
    def load(cls, path: str | Path) -> Workflow:
        """Read a graph file. Raises OSError, and InvalidError or BadJsonError for what is no graph file."""
        return cls.of(loads_strict(Path(path).read_bytes()))

    @classmethod
    def of(cls, document: JsonValue) -> Workflow:
        """Take a graph file as a value. Raises InvalidError."""
        read_document(document)
        return cls(cast("Mapping[str, JsonValue]", document))


class Run:
    """One run: iterate it to drive it and to see its events; afterwards `outputs` holds its results."""

    def __init__(self, options: ProductOptions, request: StartRequest) -> None:
        self._options = options
        self._request = request
        self.run_id: str | None = None
        self.outputs: Sequence[Mapping[str, Any]] = ()
        """`{nodeId, result}` of each output node, once the run succeeded."""

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Raises GraphInvalidError, InputInvalidError: nothing has run then. Leaving early hands the run back."""
        async with open_runs(self._options) as door:
            self.run_id = await door.start(self._request)
            async for event in door.events(self.run_id):
                if event["type"] == "workflow_complete":
                    self.outputs = (await with_whole_outputs(door, event))["data"]["outputs"]
                yield event


def run(
    workflow: Workflow,
    inputs: Mapping[str, JsonValue] | None = None,
    *,
    queued_inputs: Mapping[str, Sequence[Mapping[str, JsonValue]]] | None = None,
    model: str | None = None,
    data: str | Path | None = None,
) -> Run:
    """Run a workflow. Nothing begins before the result is iterated.

    `queued_inputs`: node id to what later visits of that `userInput` take, in order. `model`: the default model of this
    run. `data`: the data folder, `~/.flyback` where nothing else is said; `FLYBACK_DATABASE_URL` names a PostgreSQL.
    """
    if not isinstance(workflow, Workflow):  # pyright: ignore[reportUnnecessaryIsInstance] -- called from untyped code
        raise InvalidError("run takes a Workflow.", fix='Write run(Workflow.load("file.json"), …).')
    folder = Path(data or os.environ.get("FLYBACK_DATA") or "~/.flyback").expanduser().absolute()
    options = ProductOptions(
        folder,
        os.environ.get("FLYBACK_DATABASE_URL") or None,
        os.environ.get("FLYBACK_EMBEDDED_MODEL", "default"),
    )
    return Run(options, StartRequest(workflow.document, inputs or {}, queued_inputs or {}, model))
