"""Looking at runs: lists, details, visits, calls, workspaces and what one visit changed. Everything is in the wire's form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.diff import workspace_diff
from flyback.domain.errors import InvalidError, NotFoundError
from flyback.domain.json_value import loads
from flyback.domain.run import Mode, RunStatus
from flyback.domain.wire import Wire
from flyback.domain.workspace import Workspace
from flyback.engine.node_context import QUEUED
from flyback.services.actor import Actor
from flyback.services.pages import Page, decode_cursor, encode_cursor
from flyback.storage import run_reads
from flyback.storage.database import Database
from flyback.storage.decision_reads import statistics
from flyback.storage.run_reads import FoundRun, RunFilter

T = TypeVar("T")
_PAUSE_LIMIT = 200
ALL_EVENTS = 100_000
"""More than these a run cannot have."""


class RunViews:
    """Every call raises NotFoundError for what is not there or belongs to somebody else."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_runs(self, actor: Actor, wanted: RunFilter, *, cursor: str | None, limit: int) -> Page[Wire]:
        after = cast("int", decode_cursor(cursor, int)[0]) if cursor is not None else None
        items, more, total = await self._database.read(
            lambda conn: run_reads.page(conn, actor.owner_id, wanted, after=after, limit=limit)
        )
        return Page(items, encode_cursor(more) if more is not None else None, total)

    async def detail(self, actor: Actor, run_id: str) -> Wire:
        """A run with the graph as it ran, its nodes (DAG) or visits (AGENTIC), and its pauses."""
        return await self._read(actor, run_id, _detail)

    async def find(self, actor: Actor, start: str) -> str:
        """Return the id of the only run that begins so. Raises NotFoundError, or InvalidError where several do."""
        found = await self._database.read(lambda conn: run_reads.find_by_prefix(conn, actor.owner_id, start))
        if not found:
            raise NotFoundError(f"There is no run {start!r}.", fix="See the newest ones with: flyback runs")
        if len(found) > 1:
            raise InvalidError(f"Several runs begin with {start!r}.", fix="Give more of the id.")
        return found[0]

    async def status(self, actor: Actor, run_id: str) -> RunStatus:
        return await self._read(actor, run_id, lambda _, run: RunStatus(run.row["status"]))

    async def last_event(self, actor: Actor, run_id: str) -> int:
        """Return the number of the run's newest event."""
        return await self._read(actor, run_id, lambda _, run: int(run.row["last_event"]))

    async def visits(self, actor: Actor, run_id: str) -> Sequence[Wire]:
        return await self._read(actor, run_id, run_reads.visits)

    async def visit(self, actor: Actor, run_id: str, visit_id: str) -> Wire:
        return await self._read(actor, run_id, lambda conn, run: run_reads.visit(conn, run, visit_id))

    async def node(self, actor: Actor, run_id: str, node_id: str) -> Wire:
        return await self._read(actor, run_id, lambda conn, run: run_reads.node(conn, run, node_id))

    async def visit_calls(self, actor: Actor, run_id: str, visit_id: str) -> Sequence[Wire]:
        def work(conn: Connection, run: FoundRun) -> Sequence[Wire]:
            run_reads.check_visit(conn, run, visit_id)
            return run_reads.calls(conn, run, visit_id=visit_id)

        return await self._read(actor, run_id, work)

    async def node_calls(self, actor: Actor, run_id: str, node_id: str) -> Sequence[Wire]:
        def work(conn: Connection, run: FoundRun) -> Sequence[Wire]:
            run_reads.node(conn, run, node_id)
            return run_reads.calls(conn, run, node_id=node_id)

        return await self._read(actor, run_id, work)

    async def workspace(self, actor: Actor, run_id: str, visit_id: str) -> Wire:
        """`{visitId, variables}`: the whole workspace after a visit, however large."""

        def work(conn: Connection, run: FoundRun) -> Wire:
            return {"visitId": visit_id, "variables": run_reads.workspace_of(conn, run, visit_id)}

        return await self._read(actor, run_id, work)

    async def diff(self, actor: Actor, run_id: str, visit_id: str, *, against: str | None) -> Wire:
        """What differs between the workspaces after two visits; without `against`, after this visit and the one before."""
        return await self._read(actor, run_id, lambda conn, run: _diff(conn, run, visit_id, against))

    async def run_pauses(self, actor: Actor, run_id: str) -> Sequence[Wire]:
        return await self._read(actor, run_id, run_reads.pauses)

    async def pause(self, actor: Actor, pause_id: str) -> Wire:
        return await self._database.read(lambda conn: run_reads.pause(conn, actor.owner_id, pause_id))

    async def pauses(self, actor: Actor, *, status: str | None) -> Sequence[Wire]:
        return await self._database.read(
            lambda conn: run_reads.pauses_of_owner(conn, actor.owner_id, status=status, limit=_PAUSE_LIMIT)
        )

    async def events(self, actor: Actor, run_id: str, *, after: int, limit: int) -> Sequence[Wire]:
        """Durable events behind a position, as on the wire."""
        return await self._read(actor, run_id, lambda conn, run: run_reads.events(conn, run, after=after, limit=limit))

    async def decision_statistics(self, actor: Actor, workflow_id: str | None) -> Wire:
        return await self._database.read(lambda conn: statistics(conn, actor.owner_id, workflow_id))

    async def _read(self, actor: Actor, run_id: str, work: Callable[[Connection, FoundRun], T]) -> T:
        def reading(conn: Connection) -> T:
            return work(conn, run_reads.find(conn, actor.owner_id, run_id))

        return await self._database.read(reading)


def _detail(conn: Connection, run: FoundRun) -> Wire:
    options = cast("Mapping[str, JsonValue]", loads(run.row["options_json"]))
    detail = run_reads.run_on_wire(run.row)
    detail["graphData"] = loads(run.row["graph_data"])
    detail["defaultModel"] = options["defaultModel"]
    detail["plannerModelId"] = options["plannerModel"]
    detail["maxVisits"] = options["maxVisits"]
    if run.mode is Mode.DAG:
        detail["nodes"] = cast("JsonValue", run_reads.nodes(conn, run))
    else:
        detail["visits"] = cast("JsonValue", run_reads.visits(conn, run))
    detail["pauses"] = cast("JsonValue", run_reads.pauses(conn, run))
    detail["children"] = cast("JsonValue", run_reads.children(conn, run))
    if RunStatus(run.row["status"]).ended:
        queued = cast("Mapping[str, Sequence[JsonValue]]", options["queuedInputs"])
        records = cast("Sequence[Wire]", detail.get("nodes") or detail.get("visits") or ())
        detail["warnings"] = [*cast("list[JsonValue]", detail["warnings"]), *_untaken(queued, records)]
    return detail


def _untaken(queued: Mapping[str, Sequence[JsonValue]], records: Sequence[Wire]) -> Iterator[JsonValue]:
    """Warn of queued inputs that no visit took: only the end tells."""
    for node_id, entries in queued.items():
        outputs = [cast("Wire", one["output"]) for one in records if one["nodeId"] == node_id and one["output"]]
        left = len(entries) - sum(QUEUED in cast("Wire", output["meta"]) for output in outputs)
        if left > 0:
            yield {
                "message": f"{left} of {len(entries)} entries of queuedInputs for {node_id!r} were not taken.",
                "node": node_id,
                "field": "queuedInputs",
                "fix": "Queue as many as the node is visited, the first visit counted only where it has no inputs.",
            }


def _diff(conn: Connection, run: FoundRun, visit_id: str, against: str | None) -> Wire:
    other = against if against is not None else run_reads.previous_visit(conn, run, visit_id)
    before = _workspace(conn, run, other) if other is not None else Workspace.of_inputs(run_reads.run_inputs(run))
    changes = workspace_diff(before, _workspace(conn, run, visit_id))
    names = run_reads.visit_names(conn, run)
    return {
        "against": other,
        "added": [{"name": one.name, "after": one.after} for one in changes.added],
        "overwritten": [
            {
                "name": one.name,
                "before": one.before,
                "after": one.after,
                "lastWrittenBy": names.get(one.last_written_by),
            }
            for one in changes.overwritten
        ],
        "removed": list(changes.removed),
        "unchanged": list(changes.unchanged),
    }


def _workspace(conn: Connection, run: FoundRun, visit_id: str) -> Workspace:
    return Workspace(run_reads.workspace_of(conn, run, visit_id), run_reads.writers_of(conn, run, visit_id))
