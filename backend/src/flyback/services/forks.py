"""Forking a run: a new run that shares the visits up to a chosen one, and goes on otherwise.

The graph, models and limits are those of the other run; a published version brings its own, but for the default model.
Nothing that is shared is executed or paid for again: the new run's usage and budget begin at nothing. Its visits count,
though: a run has at most so many, whoever made them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.errors import ConfigInvalidError, Fault, InvalidError, ModelUnknownError, StateCorruptError
from flyback.domain.fork import read_edits
from flyback.domain.graph import Graph, NodeId
from flyback.domain.graph_file import WorkflowDocument
from flyback.domain.json_value import loads, mend_text
from flyback.domain.run import Mode, RunId, StepStatus, VisitId, WorkflowId
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace, edited_writers
from flyback.engine.check import checked_graph
from flyback.engine.log import Forced, RunOptions
from flyback.engine.ports import Ids, ModelCatalog
from flyback.services.acceptance import Acceptance, Accepted
from flyback.services.actor import Actor
from flyback.services.runs import MAX_VISITS, VersionChoice, document_of_version, fault_on_wire, without_price
from flyback.services.settings import read_settings
from flyback.storage import run_reads
from flyback.storage.database import Database
from flyback.storage.decode import DamagedError, read_options
from flyback.storage.idempotency import IdempotencyKey
from flyback.storage.ledger import Fork, NewRun
from flyback.storage.ledger.state import read_visits
from flyback.storage.run_reads import FoundRun

_OPEN = frozenset({StepStatus.PENDING, StepStatus.RUNNING, StepStatus.PAUSED})


@dataclass(frozen=True, slots=True)
class ForkWish:
    """From which visit on, and what is to be different. What is empty is as in the other run."""

    visit_id: str
    variables: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    next: str | None = None
    """None asks the planner anew."""
    reason: str = ""
    planner_model: str | None = None
    version: VersionChoice = None
    """None is the graph as the other run has it."""


@dataclass(frozen=True, slots=True)
class _Origin:
    """The run that is forked, its visits up to the chosen one, and the graph that the fork is to have."""

    run: FoundRun
    shared: Sequence[Visit]
    document: JsonValue
    options: RunOptions
    version: int | None

    @property
    def last(self) -> Visit:
        return self.shared[-1]


class Forks:
    def __init__(self, database: Database, models: ModelCatalog, *, acceptance: Acceptance, ids: Ids) -> None:
        self._database = database
        self._models = models
        self._acceptance = acceptance
        self._ids = ids

    async def fork(self, actor: Actor, run_id: str, wish: ForkWish, *, key: IdempotencyKey | None = None) -> Accepted:
        """Accept a fork and start it.

        Raises:
            NotFoundError: no such run, visit or version.
            InvalidError, InputInvalidError, GraphInvalidError: it cannot go on from there, or not so.
            IdempotencyMismatchError: the key names a run that was asked for otherwise.
        """
        repeated = await self._acceptance.repeated(actor, key)
        if repeated is not None:
            return repeated
        origin = await self._database.read(lambda conn: _origin(conn, actor, run_id, wish))
        if wish.planner_model is not None:
            await self._check_model(actor, wish.planner_model)
        return await self._acceptance.accept(actor, await self._new_run(actor, origin, wish), key)

    async def _check_model(self, actor: Actor, name: str) -> None:
        try:
            await self._models.find(name, owner_id=actor.owner_id)
        except ModelUnknownError as error:
            raise InvalidError(error.message, field="plannerModelId", fix=error.fix) from error

    async def _new_run(self, actor: Actor, origin: _Origin, wish: ForkWish) -> NewRun:
        row, last, options = origin.run.row, origin.last, origin.options
        graph, warnings = checked_graph(origin.document, Mode.AGENTIC, script=options.script)
        planner = wish.planner_model or options.planner_model
        if options.budget.cost is not None:
            # The default model could be used when the other run was accepted; where not any more, the fork meets that itself.
            with suppress(ModelUnknownError, ConfigInvalidError):
                default = await self._models.find(options.default_model, owner_id=actor.owner_id)
                warnings = [*warnings, *await without_price(self._models, actor, graph, planner, default)]
        _check_place(graph, last, wish, max_visits=options.max_visits)
        writers = _writers_after(origin)
        edits = read_edits(graph, writers, wish.variables)
        forced = Forced(last.sort_order, NodeId(wish.next), mend_text(wish.reason.strip())) if wish.next else None
        return NewRun(
            run_id=RunId(self._ids.new()),
            owner_id=actor.owner_id,
            workflow_id=WorkflowId(row["workflow_id"]) if row["workflow_id"] else None,
            workflow_name=row["workflow_name"],
            version=origin.version,
            mode=Mode.AGENTIC,
            graph=graph,
            inputs=run_reads.run_inputs(origin.run),
            options=replace(options, planner_model=planner, forced=forced, above=()),
            warnings=[fault_on_wire(warning) for warning in warnings],
            parent_run_id=origin.run.run_id,
            fork=Fork(
                origin=origin.run.key,
                visit_id=last.visit_id,
                shared={visit.visit_id: VisitId(self._ids.new()) for visit in origin.shared},
                edits={**(last.edits or {}), **edits},
                writers=edited_writers(writers, edits),
            ),
        )


def _origin(conn: Connection, actor: Actor, run_id: str, wish: ForkWish) -> _Origin:
    run = run_reads.find(conn, actor.owner_id, run_id)
    if run.mode is not Mode.AGENTIC:
        raise InvalidError(
            "A DAG run has no visits that it could be forked from.",
            field="runId",
            fix="Start its workflow again, or run it in AGENTIC mode.",
        )
    run_reads.check_visit(conn, run, wish.visit_id)
    visits = _visits(conn, run)
    last = next(visit for visit in visits if visit.visit_id == wish.visit_id)
    options = read_options(run.row["options_json"])
    shared = visits[: last.sort_order + 1]
    if wish.version is None:
        return _Origin(run, shared, loads(run.row["graph_data"]), options, run.row["version"])
    if run.row["workflow_id"] is None:
        raise InvalidError(
            "The graph of this run was never saved, so it has no versions.",
            field="version",
            fix="Leave it out: the fork then has the graph of the run.",
        )
    document, version = document_of_version(conn, actor, WorkflowId(run.row["workflow_id"]), wish.version)
    most = document.max_visits or read_settings(conn, actor.owner_id).max_visits
    return _Origin(run, shared, dict(document.graph_data), _options_of(options, document, most), version)


def _visits(conn: Connection, run: FoundRun) -> Sequence[Visit]:
    try:
        return read_visits(conn, run.key, Workspace.of_inputs(run_reads.run_inputs(run)))
    except DamagedError as damage:
        raise StateCorruptError(
            f"What is stored of run {run.run_id!r} cannot be read: {damage}.", fix="Restore the database from a backup."
        ) from damage


def _options_of(options: RunOptions, document: WorkflowDocument, most_visits: int) -> RunOptions:
    return replace(
        options,
        planner_model=document.planner_model_id,
        max_visits=min(most_visits, MAX_VISITS),
        budget=document.budget,
        script=document.script,
    )


def _check_place(graph: Graph, last: Visit, wish: ForkWish, *, max_visits: int) -> None:
    """Raises InvalidError where no run can go on after this visit, or not to where it is sent."""
    runnable = [node.id for node in graph.runnable]
    faults: list[Fault] = []
    if last.status in _OPEN:
        fix = "Wait until it has ended, or take the visit before it."
        faults.append(Fault(f"Visit {last.sort_order + 1} is still {last.status.value}.", last.node_id, "visitId", fix))
    if last.sort_order + 1 >= max_visits:
        what = f"A run has at most {max_visits} visits, and {last.sort_order + 1} would be shared."
        faults.append(Fault(what, last.node_id, "visitId", "Take an earlier visit."))
    if last.node_id not in runnable:
        fix = "Take a visit of a node that it has, or another version."
        faults.append(Fault(f"The graph has no node {last.node_id!r} to go on from.", last.node_id, "visitId", fix))
    if wish.next is not None and wish.next not in runnable:
        fix = f"Choose one of {', '.join(repr(node_id) for node_id in runnable[:20])}."
        faults.append(Fault(f"The graph has no node {wish.next!r} to go to.", field="next", fix=fix))
    if faults:
        first = faults[0]
        raise InvalidError(first.message, node=first.node, field=first.field, fix=first.fix, faults=faults)


def _writers_after(origin: _Origin) -> Mapping[str, int]:
    """Who wrote each key of the workspace after the last shared visit."""
    for visit in reversed(origin.shared):
        if visit.writers is not None:
            return visit.writers
    return Workspace.of_inputs(run_reads.run_inputs(origin.run)).writers
