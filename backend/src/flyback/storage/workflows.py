"""Workflows: their drafts, and what a list says of them. Every call is bound to an owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.errors import FlybackError, NotFoundError
from flyback.domain.graph_file import WorkflowDocument, budget_on_wire, read_document
from flyback.domain.json_value import dumps, loads
from flyback.domain.run import Mode
from flyback.domain.wire import Wire
from flyback.storage.tables import workflow_run_visits as visits
from flyback.storage.tables import workflow_runs, workflow_versions, workflows

LAST_RUNS = 12
_OPEN = ("PENDING", "RUNNING", "PAUSED")


@dataclass(frozen=True, slots=True)
class WorkflowRow:
    id: str
    owner_id: str
    name: str
    description: str
    mode: Mode
    graph_json: str
    planner_model_id: str | None
    settings_json: str
    """maxVisits, budget, settings, script, the keys we do not know, and the graph's size."""
    revision: int
    sample_id: str | None
    created_at: str
    updated_at: str
    deleted_at: str | None = None


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A workflow without its graph."""

    id: str
    name: str
    description: str
    mode: Mode
    settings_json: str
    revision: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class RunOutcomeRow:
    run_id: str
    status: str
    mode: Mode
    visit_count: int | None
    fly_backs: int | None
    error_code: str | None
    error_json: str | None
    created_at: str
    finished_at: str | None


def insert(conn: sa.Connection, row: WorkflowRow) -> None:
    conn.execute(
        sa.insert(workflows).values(id=row.id, owner_id=row.owner_id, sample_id=row.sample_id, **_content(row))
    )


def find(conn: sa.Connection, owner_id: str, workflow_id: str, *, lock: bool = False) -> WorkflowRow | None:
    """Return a workflow that is there. With `lock` nobody else changes it until the transaction ends."""
    query = sa.select(workflows).where(_is(owner_id, workflow_id), workflows.c.deleted_at.is_(None))
    row = conn.execute(query.with_for_update() if lock else query).first()
    return None if row is None else _workflow(row)


def named(conn: sa.Connection, owner_id: str, name: str) -> Sequence[str]:
    """Return the ids of the workflows that have this very name, two of them at most."""
    columns = workflows.c
    query = sa.select(columns.id).where(
        columns.owner_id == owner_id, columns.deleted_at.is_(None), columns.name == name
    )
    return conn.execute(query.limit(2)).scalars().all()


def replace(conn: sa.Connection, row: WorkflowRow, *, based_on: int) -> bool:
    """Store a new draft over the revision it was made from. False when something else is stored by now."""
    where = sa.and_(_is(row.owner_id, row.id), workflows.c.revision == based_on, workflows.c.deleted_at.is_(None))
    return conn.execute(sa.update(workflows).where(where).values(**_content(row))).rowcount > 0


def set_deleted(conn: sa.Connection, owner_id: str, workflow_id: str, *, at: str | None) -> bool:
    """Delete softly (`at`) or take the deletion back (None). False where there was nothing to do."""
    before = workflows.c.deleted_at.is_(None) if at is not None else workflows.c.deleted_at.is_not(None)
    done = conn.execute(sa.update(workflows).where(_is(owner_id, workflow_id), before).values(deleted_at=at))
    return done.rowcount > 0


def page(
    conn: sa.Connection,
    owner_id: str,
    *,
    text: str | None,
    mode: Mode | None,
    after: tuple[str, str] | None,
    limit: int,
) -> tuple[Sequence[ListedRow], int]:
    """Return up to `limit` workflows behind a position `(updated_at, id)`, last changed first, and how many there are."""
    conditions = [workflows.c.owner_id == owner_id, workflows.c.deleted_at.is_(None)]
    if mode is not None:
        conditions.append(workflows.c.mode == mode.value)
    if text:
        conditions.append(
            sa.or_(
                workflows.c.name.icontains(text, autoescape=True),
                workflows.c.description.icontains(text, autoescape=True),
            )
        )
    total = conn.execute(sa.select(sa.func.count()).select_from(workflows).where(*conditions)).scalar_one()
    if after is not None:
        conditions.append(
            sa.tuple_(workflows.c.updated_at, workflows.c.id) < sa.tuple_(sa.literal(after[0]), sa.literal(after[1]))
        )
    columns = (
        workflows.c.id,
        workflows.c.name,
        workflows.c.description,
        workflows.c.mode,
        workflows.c.settings,
        workflows.c.revision,
        workflows.c.created_at,
        workflows.c.updated_at,
    )
    newest_first = (workflows.c.updated_at.desc(), workflows.c.id.desc())
    rows = conn.execute(sa.select(*columns).where(*conditions).order_by(*newest_first).limit(limit))
    return [_listed(row) for row in rows], total


def open_runs(conn: sa.Connection, owner_id: str, workflow_id: str) -> Sequence[str]:
    """Return the ids of the runs of a workflow that have no end yet."""
    query = sa.select(workflow_runs.c.run_uuid).where(
        workflow_runs.c.owner_id == owner_id,
        workflow_runs.c.workflow_id == workflow_id,
        workflow_runs.c.status.in_(_OPEN),
    )
    return list(conn.execute(query).scalars())


def last_runs(conn: sa.Connection, owner_id: str, workflow_ids: Sequence[str]) -> Mapping[str, Sequence[RunOutcomeRow]]:
    """Return the newest runs of each workflow, newest first."""
    found = {workflow_id: _newest_runs(conn, owner_id, workflow_id) for workflow_id in workflow_ids}
    counts = _fly_backs(conn, [row.id for rows in found.values() for row in rows if row.mode == Mode.AGENTIC])
    return {workflow_id: [_outcome(row, counts) for row in rows] for workflow_id, rows in found.items()}


def latest_versions(conn: sa.Connection, workflow_ids: Sequence[str]) -> Mapping[str, tuple[int, str]]:
    """Workflow id to number and time of its newest version, for those that have one."""
    query = (
        sa.select(
            workflow_versions.c.workflow_id,
            sa.func.max(workflow_versions.c.version).label("version"),
            sa.func.max(workflow_versions.c.published_at).label("published_at"),
        )
        .where(workflow_versions.c.workflow_id.in_(workflow_ids))
        .group_by(workflow_versions.c.workflow_id)
    )
    return {row.workflow_id: (row.version, row.published_at) for row in conn.execute(query)}


def document_of(row: WorkflowRow) -> WorkflowDocument:
    """Return the document that a row holds."""
    settings = _object(loads(row.settings_json))
    return read_document(
        {
            **_object(settings["extra"]),
            "name": row.name,
            "description": row.description,
            "mode": row.mode.value,
            "plannerModelId": row.planner_model_id,
            "maxVisits": settings["maxVisits"],
            "budget": settings["budget"],
            "settings": settings["settings"],
            "script": settings["script"],
            "graphData": loads(row.graph_json),
        }
    )


def settings_json(document: WorkflowDocument) -> str:
    """Return what a row holds of a document beside its own columns; `document_of` reads it back."""
    return dumps(
        {
            "maxVisits": document.max_visits,
            "budget": budget_on_wire(document.budget),
            "settings": dict(document.settings),
            "script": document.script,
            "extra": dict(document.extra),
            "size": list(size_of(document.graph_data)),
        }
    )


def listed_size(row: ListedRow) -> tuple[int, int]:
    """Return how many nodes and edges a listed workflow has."""
    nodes, edges = cast("list[int]", _object(loads(row.settings_json))["size"])
    return nodes, edges


def size_of(graph_data: Mapping[str, JsonValue]) -> tuple[int, int]:
    """Return how many nodes and edges a graph has, as far as they are lists."""
    nodes, edges = graph_data.get("nodes"), graph_data.get("edges")
    return len(nodes) if isinstance(nodes, list) else 0, len(edges) if isinstance(edges, list) else 0


def no_workflow(workflow_id: str) -> FlybackError:
    fix = "See those that there are with GET /api/workflows; a deleted one comes back with POST …/restore."
    return NotFoundError(f"There is no workflow {workflow_id!r}.", fix=fix)


def _is(owner_id: str, workflow_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(workflows.c.owner_id == owner_id, workflows.c.id == workflow_id)


def _content(row: WorkflowRow) -> dict[str, str | int | None]:
    return {
        "name": row.name,
        "description": row.description,
        "graph_data": row.graph_json,
        "mode": row.mode.value,
        "planner_model_id": row.planner_model_id,
        "settings": row.settings_json,
        "revision": row.revision,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def _workflow(row: sa.Row[*tuple[Any, ...]]) -> WorkflowRow:
    return WorkflowRow(
        id=row.id,
        owner_id=row.owner_id,
        name=row.name,
        description=row.description,
        mode=Mode(row.mode),
        graph_json=row.graph_data,
        planner_model_id=row.planner_model_id,
        settings_json=row.settings,
        revision=row.revision,
        sample_id=row.sample_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
        deleted_at=row.deleted_at,
    )


def _listed(row: sa.Row[*tuple[Any, ...]]) -> ListedRow:
    return ListedRow(
        id=row.id,
        name=row.name,
        description=row.description,
        mode=Mode(row.mode),
        settings_json=row.settings,
        revision=row.revision,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _newest_runs(conn: sa.Connection, owner_id: str, workflow_id: str) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    runs = workflow_runs.c
    columns = (
        runs.id,
        runs.run_uuid,
        runs.status,
        runs.mode,
        runs.visit_count,
        runs.error_code,
        runs.error_json,
        runs.created_at,
        runs.finished_at,
    )
    of_workflow = (runs.owner_id == owner_id, runs.workflow_id == workflow_id)
    return conn.execute(sa.select(*columns).where(*of_workflow).order_by(runs.id.desc()).limit(LAST_RUNS)).all()


def _fly_backs(conn: sa.Connection, run_keys: Sequence[int]) -> Mapping[int, int]:
    is_fly_back = sa.and_(visits.c.from_visit_uuid.is_not(None), sa.or_(visits.c.iter_seq > 1, ~visits.c.on_canvas))
    query = (
        sa.select(visits.c.run_id, sa.func.count().label("count"))
        .where(visits.c.run_id.in_(run_keys), is_fly_back)
        .group_by(visits.c.run_id)
    )
    return {row.run_id: row[1] for row in conn.execute(query)}


def _outcome(row: sa.Row[*tuple[Any, ...]], fly_backs: Mapping[int, int]) -> RunOutcomeRow:
    return RunOutcomeRow(
        run_id=row.run_uuid,
        status=row.status,
        mode=Mode(row.mode),
        visit_count=row.visit_count,
        fly_backs=fly_backs.get(row.id, 0) if row.mode == Mode.AGENTIC else None,
        error_code=row.error_code,
        error_json=row.error_json,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )


def _object(value: JsonValue) -> Wire:
    assert isinstance(value, dict)
    return value
