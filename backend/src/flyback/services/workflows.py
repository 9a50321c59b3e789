"""Drafts: making, reading, saving and deleting workflows.

A save names the revision that it was made from. When something else is stored by then, nothing is overwritten: the caller
gets the stored document and decides. What a save replaces is kept as a restore point.
"""

from __future__ import annotations

from typing import Protocol

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.errors import GraphInvalidError, RevisionConflictError, RunsOpenError
from flyback.domain.graph_file import MAX_NAME, MAX_NODES, WorkflowDocument, read_document
from flyback.domain.json_value import dumps
from flyback.domain.run import Mode
from flyback.domain.structure import MAX_EDGES
from flyback.domain.wire import Wire, time_on_wire
from flyback.engine.check_calls import Callees
from flyback.engine.ports import Clock, Ids
from flyback.services.actor import Actor
from flyback.services.called_workflows import callees_of
from flyback.services.pages import Page, decode_cursor, page_of
from flyback.services.thinning import thinned
from flyback.services.workflow import Listed, Workflow
from flyback.storage import workflow_history as history
from flyback.storage import workflows as stored
from flyback.storage.database import Database
from flyback.storage.workflow_history import RestorePointRow


class RunCanceller(Protocol):
    """What deleting a workflow asks of the runs."""

    async def cancel(self, actor: Actor, run_id: str) -> object: ...


class Workflows:
    def __init__(self, database: Database, *, clock: Clock, ids: Ids, runs: RunCanceller) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self._runs = runs

    async def page(
        self, actor: Actor, *, text: str | None, mode: Mode | None, cursor: str | None, limit: int
    ) -> Page[Listed]:
        after = decode_cursor(cursor, str, str) if cursor is not None else None
        position = None if after is None else (str(after[0]), str(after[1]))

        def work(conn: Connection) -> Page[Listed]:
            rows, total = stored.page(conn, actor.owner_id, text=text, mode=mode, after=position, limit=limit + 1)
            shown = page_of(rows, total, limit=limit, position=lambda row: (row.updated_at, row.id))
            ids = [row.id for row in shown.items]
            published = stored.latest_versions(conn, ids)
            runs = stored.last_runs(conn, actor.owner_id, ids)
            items = [Listed.of_row(row, published.get(row.id), runs[row.id]) for row in shown.items]
            return Page(items, shown.next_cursor, total)

        return await self._database.read(work)

    async def get(self, actor: Actor, workflow_id: str) -> Workflow:
        return await self._database.read(lambda conn: find_workflow(conn, actor.owner_id, workflow_id))

    async def create(self, actor: Actor, document: WorkflowDocument, *, sample_id: str | None = None) -> Workflow:
        """Store a new workflow. Whatever id the document came with, it gets its own."""
        check_size(document)
        now = self._now()
        workflow = Workflow(self._ids.new(), actor.owner_id, document, 1, now, now, sample_id)
        row = workflow.as_row()
        await self._database.write(lambda conn: stored.insert(conn, row))
        return workflow

    async def save(self, actor: Actor, workflow_id: str, document: WorkflowDocument, *, revision: int) -> Workflow:
        """Put a whole document in the place of the revision it was made from.

        Saving again what is stored already changes nothing, so that a save whose answer was lost can be repeated.

        Raises:
            RevisionConflictError: something else was saved since.
        """
        check_size(document)

        def work(conn: Connection) -> Workflow:
            before = find_workflow(conn, actor.owner_id, workflow_id, lock=True)
            if before.document == document:
                return before
            if before.revision != revision:
                raise _conflict(before)
            return self.put(conn, before, document)

        return await self._database.write(work)

    async def change(self, actor: Actor, workflow_id: str, changes: Wire, *, revision: int | None) -> Workflow:
        """Change the keys given and leave the others. With `revision`, only if nothing was saved since."""

        def work(conn: Connection) -> Workflow:
            before = find_workflow(conn, actor.owner_id, workflow_id, lock=True)
            document = read_document(changes, base=before.document)
            check_size(document)
            if before.document == document:
                return before
            if revision is not None and before.revision != revision:
                raise _conflict(before)
            return self.put(conn, before, document)

        return await self._database.write(work)

    def put(self, conn: Connection, before: Workflow, document: WorkflowDocument) -> Workflow:
        """Store the next revision over `before` and keep that one as a restore point, within a transaction.

        Raises:
            RevisionConflictError: another process saved in between.
        """
        now = self._now()
        after = before.following(document, at=now)
        if not stored.replace(conn, after.as_row(), based_on=before.revision):
            raise _conflict(find_workflow(conn, before.owner_id, before.id))
        point = RestorePointRow(before.revision, dumps(before.on_wire()), None, before.updated_at)
        history.add_restore_point(conn, before.id, point)
        history.drop_restore_points(conn, before.id, thinned(history.unnamed_points(conn, before.id)))
        return after

    async def delete(self, actor: Actor, workflow_id: str, *, cancel_runs: bool) -> None:
        """Delete softly: `restore` takes it back.

        Raises:
            RunsOpenError: runs of it have no end yet, and they were not to be cancelled.
        """
        await self.get(actor, workflow_id)
        if cancel_runs:
            for run_id in await self._database.read(lambda conn: stored.open_runs(conn, actor.owner_id, workflow_id)):
                await self._runs.cancel(actor, run_id)

        def work(conn: Connection) -> None:
            find_workflow(conn, actor.owner_id, workflow_id, lock=True)
            count = len(stored.open_runs(conn, actor.owner_id, workflow_id))
            if count:
                raise RunsOpenError(
                    f"{count} of its runs {'has' if count == 1 else 'have'} no end yet.",
                    fix="Wait for them, or delete with ?cancelRuns=true to cancel them first.",
                )
            stored.set_deleted(conn, actor.owner_id, workflow_id, at=self._now())

        await self._database.write(work)

    async def restore(self, actor: Actor, workflow_id: str) -> Workflow:
        """Take a deletion back. A workflow that was not deleted is given as it is."""

        def work(conn: Connection) -> Workflow:
            stored.set_deleted(conn, actor.owner_id, workflow_id, at=None)
            return find_workflow(conn, actor.owner_id, workflow_id)

        return await self._database.write(work)

    async def duplicate(self, actor: Actor, workflow_id: str, *, name: str | None) -> Workflow:
        """Make a workflow of one's own from the draft of another."""
        source = (await self.get(actor, workflow_id)).document
        copied = read_document({"name": name or _copy_name(source.name)}, base=source)
        return await self.create(actor, copied)

    async def called_by(self, actor: Actor, graph_data: JsonValue) -> Callees:
        """Return every saved workflow that a graph calls, and those that these call."""
        return await self._database.read(lambda conn: callees_of(conn, actor.owner_id, graph_data))

    def _now(self) -> str:
        return time_on_wire(self._clock.now())


def find_workflow(conn: Connection, owner_id: str, workflow_id: str, *, lock: bool = False) -> Workflow:
    """Return an owner's workflow. Raises NotFoundError, also for somebody else's and for a deleted one."""
    row = stored.find(conn, owner_id, workflow_id, lock=lock)
    if row is None:
        raise stored.no_workflow(workflow_id)
    return Workflow.of_row(row)


def check_size(document: WorkflowDocument) -> None:
    """Refuse a graph that is too large to be kept. Other faults are a draft's own business."""
    nodes, edges = stored.size_of(document.graph_data)
    if nodes > MAX_NODES or edges > MAX_EDGES:
        raise GraphInvalidError(
            f"The graph has {nodes:,} nodes and {edges:,} edges; at most {MAX_NODES:,} and {MAX_EDGES:,} are kept.",
            field="graphData",
            fix="Move parts of it into workflows of their own and call them with workflow nodes.",
        )


def _conflict(current: Workflow) -> RevisionConflictError:
    wire: JsonValue = current.on_wire()
    return RevisionConflictError(
        f"The workflow was changed elsewhere: revision {current.revision} is stored by now.",
        current=wire,
        fix="Compare with the stored document in `current`, then save again with its revision, or save yours as a copy.",
    )


def _copy_name(name: str) -> str:
    return f"{name[: MAX_NAME - 7]} (copy)"
