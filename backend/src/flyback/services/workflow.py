"""A workflow as it is stored: its document, and what the server adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from flyback.domain.graph_file import WorkflowDocument, read_document
from flyback.domain.json_value import dumps, loads
from flyback.domain.run import Mode
from flyback.domain.wire import Wire
from flyback.storage.workflow_history import RestorePointRow, VersionRow
from flyback.storage.workflows import ListedRow, RunOutcomeRow, WorkflowRow, document_of, listed_size, settings_json


@dataclass(frozen=True, slots=True)
class Workflow:
    id: str
    owner_id: str
    document: WorkflowDocument
    revision: int
    created_at: str
    updated_at: str
    sample_id: str | None = None

    def on_wire(self) -> Wire:
        return {
            **self.document.on_wire(),
            "id": self.id,
            "revision": self.revision,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        }

    @classmethod
    def of_row(cls, row: WorkflowRow) -> Workflow:
        return cls(
            id=row.id,
            owner_id=row.owner_id,
            document=document_of(row),
            revision=row.revision,
            created_at=row.created_at,
            updated_at=row.updated_at,
            sample_id=row.sample_id,
        )

    def as_row(self) -> WorkflowRow:
        document = self.document
        return WorkflowRow(
            id=self.id,
            owner_id=self.owner_id,
            name=document.name,
            description=document.description,
            mode=document.mode,
            graph_json=dumps(dict(document.graph_data)),
            planner_model_id=document.planner_model_id,
            settings_json=settings_json(document),
            revision=self.revision,
            sample_id=self.sample_id,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def following(self, document: WorkflowDocument, *, at: str) -> Workflow:
        """Return the next revision."""
        return replace(self, document=document, revision=self.revision + 1, updated_at=at)


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list says of a workflow."""

    row: ListedRow
    nodes: int
    edges: int
    version: int | None
    draft_changed: bool
    runs: Sequence[RunOutcomeRow]

    @classmethod
    def of_row(cls, row: ListedRow, published: tuple[int, str] | None, runs: Sequence[RunOutcomeRow]) -> Listed:
        nodes, edges = listed_size(row)
        version, published_at = published or (None, "")
        return cls(row, nodes, edges, version, row.updated_at > published_at, runs)


@dataclass(frozen=True, slots=True)
class RestorePoint:
    revision: int
    note: str | None
    created_at: str
    workflow: Wire
    """As it stood on the wire."""

    @classmethod
    def of_row(cls, row: RestorePointRow) -> RestorePoint:
        return cls(row.revision, row.note, row.created_at, _object(loads(row.document_json)))


@dataclass(frozen=True, slots=True)
class Version:
    workflow_id: str
    version: int
    mode: Mode
    note: str
    published_at: str
    workflow: Wire
    """As it stood on the wire when it was published."""

    @classmethod
    def of_row(cls, row: VersionRow) -> Version:
        workflow = _object(loads(row.document_json))
        return cls(row.workflow_id, row.version, row.mode, row.note, row.published_at, workflow)

    @property
    def document(self) -> WorkflowDocument:
        return read_document(self.workflow)


def _object(value: JsonValue) -> Wire:
    assert isinstance(value, dict)
    return value
