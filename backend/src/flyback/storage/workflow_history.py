"""What a workflow was: restore points of its draft, and its published versions.

The owner is checked where the workflow itself is found, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from flyback.domain.errors import NotFoundError
from flyback.domain.graph_file import WorkflowDocument, read_document
from flyback.domain.json_value import loads
from flyback.domain.run import Mode
from flyback.storage import workflows
from flyback.storage.tables import workflow_revisions, workflow_versions


@dataclass(frozen=True, slots=True)
class RestorePointRow:
    revision: int
    document_json: str
    note: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class VersionRow:
    workflow_id: str
    version: int
    mode: Mode
    document_json: str
    note: str
    published_at: str


# Restore points.


def add_restore_point(conn: sa.Connection, workflow_id: str, point: RestorePointRow) -> None:
    """Keep a draft as it was. One that is kept already only gets the note, if there is one."""
    here = (workflow_revisions.c.workflow_id == workflow_id, workflow_revisions.c.revision == point.revision)
    if conn.execute(sa.select(workflow_revisions.c.id).where(*here)).first() is not None:
        if point.note is not None:
            conn.execute(sa.update(workflow_revisions).where(*here).values(note=point.note))
        return
    values = {"revision": point.revision, "document": point.document_json, "note": point.note}
    conn.execute(sa.insert(workflow_revisions).values(workflow_id=workflow_id, created_at=point.created_at, **values))


def restore_points(
    conn: sa.Connection, workflow_id: str, *, before: int | None, limit: int
) -> tuple[Sequence[RestorePointRow], int]:
    of_workflow = workflow_revisions.c.workflow_id == workflow_id
    total = conn.execute(sa.select(sa.func.count()).select_from(workflow_revisions).where(of_workflow)).scalar_one()
    query = sa.select(workflow_revisions).where(of_workflow)
    if before is not None:
        query = query.where(workflow_revisions.c.revision < before)
    rows = conn.execute(query.order_by(workflow_revisions.c.revision.desc()).limit(limit))
    return [_point(row) for row in rows], total


def restore_point(conn: sa.Connection, workflow_id: str, revision: int) -> RestorePointRow | None:
    here = (workflow_revisions.c.workflow_id == workflow_id, workflow_revisions.c.revision == revision)
    row = conn.execute(sa.select(workflow_revisions).where(*here)).first()
    return None if row is None else _point(row)


def unnamed_points(conn: sa.Connection, workflow_id: str) -> Sequence[tuple[int, str]]:
    """Return revision and time of every restore point without a note, newest first."""
    query = (
        sa.select(workflow_revisions.c.revision, workflow_revisions.c.created_at)
        .where(workflow_revisions.c.workflow_id == workflow_id, workflow_revisions.c.note.is_(None))
        .order_by(workflow_revisions.c.revision.desc())
    )
    return [(row.revision, row.created_at) for row in conn.execute(query)]


def drop_restore_points(conn: sa.Connection, workflow_id: str, revisions: Sequence[int]) -> None:
    of_workflow = workflow_revisions.c.workflow_id == workflow_id
    conn.execute(sa.delete(workflow_revisions).where(of_workflow, workflow_revisions.c.revision.in_(revisions)))


# Versions.


def document_to_run(
    conn: sa.Connection, owner_id: str, workflow_id: str, choice: int | Literal["latest"] | None
) -> tuple[WorkflowDocument, int | None]:
    """Return what a run of a workflow runs, the saved draft without a choice, and the number of its version.

    Raises:
        NotFoundError: no such workflow of this owner, or no such version.
    """
    row = workflows.find(conn, owner_id, workflow_id)
    if row is None:
        raise workflows.no_workflow(workflow_id)
    if choice is None:
        return workflows.document_of(row), None
    number = latest_version(conn, workflow_id) if choice == "latest" else choice
    found = version(conn, workflow_id, number)
    if found is None:
        raise no_version(number)
    return read_document(loads(found.document_json)), number


def no_version(number: int) -> NotFoundError:
    fix = "See those that there are with GET /api/workflows/{id}/versions, or publish one."
    what = f"The workflow has no version {number}." if number else "The workflow has no published version."
    return NotFoundError(what, field="version", fix=fix)


def add_version(conn: sa.Connection, row: VersionRow, *, graph_json: str) -> None:
    values = {"version": row.version, "mode": row.mode.value, "note": row.note, "published_at": row.published_at}
    conn.execute(
        sa.insert(workflow_versions).values(
            workflow_id=row.workflow_id, graph_data=graph_json, document=row.document_json, **values
        )
    )


def latest_version(conn: sa.Connection, workflow_id: str) -> int:
    """Return the number of the newest version, 0 without one."""
    query = sa.select(sa.func.max(workflow_versions.c.version)).where(workflow_versions.c.workflow_id == workflow_id)
    return conn.execute(query).scalar() or 0


def versions(
    conn: sa.Connection, workflow_id: str, *, before: int | None, limit: int
) -> tuple[Sequence[VersionRow], int]:
    of_workflow = workflow_versions.c.workflow_id == workflow_id
    total = conn.execute(sa.select(sa.func.count()).select_from(workflow_versions).where(of_workflow)).scalar_one()
    query = sa.select(workflow_versions).where(of_workflow)
    if before is not None:
        query = query.where(workflow_versions.c.version < before)
    rows = conn.execute(query.order_by(workflow_versions.c.version.desc()).limit(limit))
    return [_version(row) for row in rows], total


def version(conn: sa.Connection, workflow_id: str, number: int) -> VersionRow | None:
    here = (workflow_versions.c.workflow_id == workflow_id, workflow_versions.c.version == number)
    row = conn.execute(sa.select(workflow_versions).where(*here)).first()
    return None if row is None else _version(row)


def _point(row: sa.Row[*tuple[Any, ...]]) -> RestorePointRow:
    return RestorePointRow(row.revision, row.document, row.note, row.created_at)


def _version(row: sa.Row[*tuple[Any, ...]]) -> VersionRow:
    return VersionRow(row.workflow_id, row.version, Mode(row.mode), row.document, row.note, row.published_at)
