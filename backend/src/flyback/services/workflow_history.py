"""What a workflow was: restore points of its draft, and the versions that were published."""

from __future__ import annotations

from sqlalchemy import Connection

from flyback.domain.errors import NotFoundError, RevisionConflictError
from flyback.domain.graph_file import read_document
from flyback.domain.json_value import dumps
from flyback.domain.wire import time_on_wire
from flyback.engine.ports import Clock
from flyback.services.actor import Actor
from flyback.services.pages import Page, decode_cursor, page_of
from flyback.services.workflow import RestorePoint, Version, Workflow
from flyback.services.workflows import Workflows, find_workflow
from flyback.storage import workflow_history as stored
from flyback.storage.database import Database
from flyback.storage.workflow_history import RestorePointRow, VersionRow


class WorkflowHistory:
    def __init__(self, database: Database, *, clock: Clock, workflows: Workflows) -> None:
        self._database = database
        self._clock = clock
        self._workflows = workflows

    async def restore_points(
        self, actor: Actor, workflow_id: str, *, cursor: str | None, limit: int
    ) -> Page[RestorePoint]:
        before = _position(cursor)

        def work(conn: Connection) -> Page[RestorePoint]:
            find_workflow(conn, actor.owner_id, workflow_id)
            rows, total = stored.restore_points(conn, workflow_id, before=before, limit=limit + 1)
            points = [RestorePoint.of_row(row) for row in rows]
            return page_of(points, total, limit=limit, position=lambda point: (point.revision,))

        return await self._database.read(work)

    async def restore_point(self, actor: Actor, workflow_id: str, revision: int) -> RestorePoint:
        def work(conn: Connection) -> RestorePoint:
            find_workflow(conn, actor.owner_id, workflow_id)
            return _point(conn, workflow_id, revision)

        return await self._database.read(work)

    async def keep(self, actor: Actor, workflow_id: str, *, note: str) -> RestorePoint:
        """Keep the draft as it is now, under a note."""

        def work(conn: Connection) -> RestorePoint:
            draft = find_workflow(conn, actor.owner_id, workflow_id, lock=True)
            row = RestorePointRow(draft.revision, dumps(draft.on_wire()), note, self._now())
            stored.add_restore_point(conn, workflow_id, row)
            return _point(conn, workflow_id, draft.revision)

        return await self._database.write(work)

    async def go_back(self, actor: Actor, workflow_id: str, revision: int) -> Workflow:
        """Make a restore point the draft again, as a new revision; the draft it replaces becomes a restore point."""

        def work(conn: Connection) -> Workflow:
            draft = find_workflow(conn, actor.owner_id, workflow_id, lock=True)
            if revision == draft.revision:
                return draft
            document = read_document(_point(conn, workflow_id, revision).workflow)
            return self._workflows.put(conn, draft, document)

        return await self._database.write(work)

    async def publish(self, actor: Actor, workflow_id: str, *, note: str, revision: int | None) -> Version:
        """Publish the draft as the next version, which never changes again."""

        def work(conn: Connection) -> Version:
            draft = find_workflow(conn, actor.owner_id, workflow_id, lock=True)
            if revision is not None and revision != draft.revision:
                raise RevisionConflictError(
                    f"The draft is at revision {draft.revision} by now, and not at {revision}.",
                    current=draft.on_wire(),
                    fix="Look at what changed, then publish it with its revision.",
                )
            row = draft.as_row()
            number = stored.latest_version(conn, workflow_id) + 1
            published = VersionRow(workflow_id, number, row.mode, dumps(draft.on_wire()), note, self._now())
            stored.add_version(conn, published, graph_json=row.graph_json)
            return Version.of_row(published)

        return await self._database.write(work)

    async def versions(self, actor: Actor, workflow_id: str, *, cursor: str | None, limit: int) -> Page[Version]:
        before = _position(cursor)

        def work(conn: Connection) -> Page[Version]:
            find_workflow(conn, actor.owner_id, workflow_id)
            rows, total = stored.versions(conn, workflow_id, before=before, limit=limit + 1)
            published = [Version.of_row(row) for row in rows]
            return page_of(published, total, limit=limit, position=lambda version: (version.version,))

        return await self._database.read(work)

    async def version(self, actor: Actor, workflow_id: str, number: int) -> Version:
        def work(conn: Connection) -> Version:
            find_workflow(conn, actor.owner_id, workflow_id)
            return find_version(conn, workflow_id, number)

        return await self._database.read(work)

    def _now(self) -> str:
        return time_on_wire(self._clock.now())


def find_version(conn: Connection, workflow_id: str, number: int) -> Version:
    """Return a published version of a workflow whose owner was checked. Raises NotFoundError."""
    row = stored.version(conn, workflow_id, number)
    if row is None:
        raise stored.no_version(number)
    return Version.of_row(row)


def _point(conn: Connection, workflow_id: str, revision: int) -> RestorePoint:
    row = stored.restore_point(conn, workflow_id, revision)
    if row is None:
        fix = "See those that there are with GET /api/workflows/{id}/revisions."
        raise NotFoundError(f"The workflow has no restore point {revision}.", fix=fix)
    return RestorePoint.of_row(row)


def _position(cursor: str | None) -> int | None:
    return None if cursor is None else int(decode_cursor(cursor, int)[0])
