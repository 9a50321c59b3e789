"""Workflows as files: exporting one, importing one, checking one. Nothing here runs anything or connects to anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import JsonValue

from flyback.domain.errors import Fault, InvalidError
from flyback.domain.graph_file import WorkflowDocument, read_document
from flyback.domain.json_value import loads_strict
from flyback.domain.redaction import Redactor
from flyback.domain.wire import Wire
from flyback.engine.check import Checked, check
from flyback.services.actor import Actor
from flyback.services.workflow import Workflow
from flyback.services.workflows import Workflows

_FLYBACK_KEYS = ("graphData", "nodes")


@dataclass(frozen=True, slots=True)
class ImportNote:
    level: Literal["warning", "error"]
    fault: Fault


@dataclass(frozen=True, slots=True)
class Imported:
    workflow: Workflow
    notes: tuple[ImportNote, ...]
    """What a check finds in it. A graph with faults is imported all the same, so that it can be mended on the canvas."""


class SecretStore(Protocol):
    """Where an owner's secrets are kept. Whoever reads one there has taught it to the redaction."""

    async def load(self, owner_id: str) -> object: ...


class WorkflowFiles:
    def __init__(self, workflows: Workflows, *, redactor: Redactor, secrets: SecretStore) -> None:
        self._workflows = workflows
        self._redactor = redactor
        self._secrets = secrets

    async def export(self, actor: Actor, workflow_id: str) -> tuple[str, Wire]:
        """Return a workflow's name and its graph file. Values that are known as secrets are left out."""
        workflow = await self._workflows.get(actor, workflow_id)
        await self._secrets.load(actor.owner_id)
        content = self._redactor.value(workflow.document.on_wire())
        assert isinstance(content, dict)
        return workflow.document.name, content

    async def import_file(self, actor: Actor, content: bytes) -> Imported:
        """Make a workflow from a graph file.

        Raises:
            BadJsonError: it is no JSON.
            InvalidError: it is no Flyback graph file.
        """
        return await self.import_value(actor, loads_strict(content))

    async def import_value(self, actor: Actor, value: JsonValue) -> Imported:
        if not isinstance(value, dict) or not any(key in value for key in _FLYBACK_KEYS):
            raise InvalidError(
                "This is no Flyback workflow file.",
                fix="Send a file with `graphData: {nodes: […], edges: […]}`, as the export gives it.",
            )
        workflow = await self._workflows.create(actor, read_document(value))
        found = await self.check(actor, workflow.document)
        errors = tuple(ImportNote("error", fault) for fault in found.errors)
        return Imported(workflow, (*errors, *(ImportNote("warning", fault) for fault in found.warnings)))

    async def check(self, actor: Actor, document: WorkflowDocument) -> Checked:
        """Check a graph, and that what it calls is there."""
        drawn: dict[str, JsonValue] = dict(document.graph_data)
        callees = await self._workflows.called_by(actor, drawn)
        return check(drawn, document.mode, script=document.script, callees=callees)
