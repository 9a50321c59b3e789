"""Starting runs, answering what they ask, and stopping them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, cast

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.dispatch import Dispatcher
from flyback.domain.answering import Given
from flyback.domain.errors import (
    ConfigInvalidError,
    Fault,
    InvalidError,
    ModelUnknownError,
    NotFoundError,
    PauseAnsweredError,
    PauseClosedError,
    SeveralPausesError,
)
from flyback.domain.graph import Graph
from flyback.domain.graph_file import WorkflowDocument
from flyback.domain.inputs import read_inputs, read_queued_inputs
from flyback.domain.model_entry import EMBEDDED, SCRIPTED
from flyback.domain.pause import CANCEL, PauseStatus
from flyback.domain.run import Budget, Mode, RunId, RunStatus, VersionChoice, WorkflowId
from flyback.domain.wire import Wire
from flyback.engine.check import checked_graph
from flyback.engine.check_calls import Callees
from flyback.engine.log import RunOptions
from flyback.engine.ports import ChatModel, Ids, ModelCatalog
from flyback.services.acceptance import Acceptance, Accepted
from flyback.services.actor import Actor
from flyback.services.called_workflows import callees_of
from flyback.services.settings import SettingsValues, read_settings
from flyback.services.workflow_history import find_version
from flyback.services.workflows import find_workflow
from flyback.storage import run_reads, workflow_history
from flyback.storage.database import Database
from flyback.storage.idempotency import IdempotencyKey
from flyback.storage.ledger import Ledger, NewRun

_TO_BE_DRIVEN = frozenset({RunStatus.PENDING, RunStatus.RUNNING})
_ACCEPTED_AT_ONCE = 4
"""Starts that are checked and stored at the same time: a storm of them leaves room for other calls."""
MAX_VISITS = 50
"""A workflow may set less."""


@dataclass(frozen=True, slots=True)
class RunWish:
    """How somebody wants a graph to be run. What is None is as the workflow says."""

    inputs: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    queued_inputs: JsonValue = None
    """`{nodeId: [{name: value}, …]}`"""
    version: VersionChoice = None
    mode: Mode | None = None
    model: str | None = None
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True)
class _Source:
    """The graph that is to run, and where it came from."""

    document: WorkflowDocument
    workflow_id: WorkflowId | None = None
    version: int | None = None


class Runs:
    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        dispatcher: Dispatcher,
        models: ModelCatalog,
        *,
        acceptance: Acceptance,
        embedded_is_ready: Callable[[], bool],
        ids: Ids,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._models = models
        self._acceptance = acceptance
        self._embedded_is_ready = embedded_is_ready
        self._ids = ids
        self._turn = asyncio.Semaphore(_ACCEPTED_AT_ONCE)

    async def start(
        self, actor: Actor, workflow_id: WorkflowId, wish: RunWish, *, key: IdempotencyKey | None = None
    ) -> Accepted:
        """Run a workflow: its saved draft, or a published version.

        Raises:
            NotFoundError: no such workflow or version.
            GraphInvalidError, InputInvalidError, InvalidError: it cannot run as it stands, or not on these inputs.
            IdempotencyMismatchError: the key names a run that was asked for otherwise.
            TooManyError: as many runs wait as may.
        """

        def find(conn: Connection) -> _Source:
            return _source(conn, actor, workflow_id, wish.version)

        repeated = await self._acceptance.repeated(actor, key)
        return repeated or await self._accept(actor, await self._database.read(find), wish, key)

    async def start_unsaved(
        self, actor: Actor, document: WorkflowDocument, wish: RunWish, *, key: IdempotencyKey | None = None
    ) -> Accepted:
        """Run a graph that is not saved. Raises what `start` raises."""
        repeated = await self._acceptance.repeated(actor, key)
        return repeated or await self._accept(actor, _Source(document), wish, key)

    async def cancel(self, actor: Actor, run_id: str) -> RunStatus:
        """Cancel a run, from whatever state, and return its status as it is by then. Raises NotFoundError."""
        found = await self._database.read(lambda conn: run_reads.find(conn, actor.owner_id, run_id))
        status, settled = await self._ledger.cancel_inside(found.run_id, by=actor.name)
        if found.row["root_run_id"] is None:
            await self._dispatcher.cancel_live(found.run_id)
        elif settled is not None and settled.segment is not None:
            await self._dispatcher.launch(settled.run_id, settled.segment)  # the outer run rested for it
        return status

    async def resume(self, actor: Actor, run_id: str) -> None:
        """Drive a run that nobody drives; one that waits for a person only where the wait is over. Raises NotFoundError."""
        found = await self._database.read(lambda conn: run_reads.find(conn, actor.owner_id, run_id))
        await self._ledger.expire_due(found.run_id)
        outermost = found.row["root_run_id"] or run_id
        found = await self._database.read(lambda conn: run_reads.find(conn, actor.owner_id, outermost))
        if RunStatus(found.row["status"]) in _TO_BE_DRIVEN:
            await self._dispatcher.launch(found.run_id, found.row["segment"])

    async def answer(self, actor: Actor, pause_id: str, given: Given) -> Wire:
        """Answer a question, or cancel its run, and return the question as it is by then.

        Raises:
            NotFoundError: there is no such question.
            PauseAnsweredError: it was answered otherwise before.
            PauseClosedError: it has expired, or its run was cancelled.
            InputInvalidError: the answer does not fit.
        """
        if given.action == CANCEL:
            return await self._cancel_by(actor, pause_id)
        settled = await self._ledger.answer(
            pause_id, given, owner_id=actor.owner_id, by=actor.name, actor_id=actor.user_id
        )
        if settled.segment is not None:
            await self._dispatcher.launch(settled.run_id, settled.segment)
        return await self._database.read(lambda conn: run_reads.pause(conn, actor.owner_id, pause_id))

    async def answer_only(self, actor: Actor, run_id: str, given: Given) -> Wire:
        """Answer the only open question of a run.

        Raises:
            SeveralPausesError: there are several.
            PauseClosedError: there is none.
            NotFoundError, PauseAnsweredError, InputInvalidError: as `answer`.
        """
        found = await self._database.read(lambda conn: run_reads.find(conn, actor.owner_id, run_id))
        pauses = await self._database.read(lambda conn: run_reads.pauses(conn, found))
        waiting = [pause for pause in pauses if pause["status"] == PauseStatus.OPEN.value] or pauses[-1:]
        if not waiting:
            raise PauseClosedError("The run has asked nobody anything.", fix="Look at how far it is.")
        if len(waiting) > 1:
            raise SeveralPausesError(
                f"{len(waiting)} questions of this run wait.",
                fix="Answer each by its own id.",
                faults=[_open_question(pause) for pause in waiting],
            )
        return await self.answer(actor, cast("str", waiting[0]["pauseId"]), given)

    async def _cancel_by(self, actor: Actor, pause_id: str) -> Wire:
        pause = await self._database.read(lambda conn: run_reads.pause(conn, actor.owner_id, pause_id))
        if pause["status"] == PauseStatus.ANSWERED.value:
            current: JsonValue = {name: pause[name] for name in ("answers", "action", "answeredBy", "answeredAt")}
            raise PauseAnsweredError(
                "The question was answered already.", current=current, fix="Cancel the run itself where it should end."
            )
        if pause["status"] == PauseStatus.EXPIRED.value:
            raise PauseClosedError("The question has expired.", fix="Cancel the run itself where it should end.")
        await self.cancel(actor, cast("str", pause["runId"]))
        return await self._database.read(lambda conn: run_reads.pause(conn, actor.owner_id, pause_id))

    async def _accept(self, actor: Actor, source: _Source, wish: RunWish, key: IdempotencyKey | None) -> Accepted:
        async with self._turn:
            return await self._acceptance.accept(actor, await self._checked(actor, source, wish), key)

    async def _checked(self, actor: Actor, source: _Source, wish: RunWish) -> NewRun:
        document = source.document
        mode = wish.mode or document.mode
        drawn: dict[str, JsonValue] = dict(document.graph_data)

        def read(conn: Connection) -> tuple[SettingsValues, Callees]:
            return read_settings(conn, actor.owner_id), callees_of(conn, actor.owner_id, drawn)

        settings, callees = await self._database.read(read)
        graph, warnings = checked_graph(
            drawn, mode, script=document.script, callees=callees, workflow_id=source.workflow_id
        )
        queued = read_queued_inputs(graph, wish.queued_inputs)
        inputs = read_inputs(graph, mode, wish.inputs, queued=queued.entries)
        model = await self._default_model(actor, document, wish, settings)
        budget = document.budget.tightest(wish.budget)
        if budget.cost is not None:
            warnings = [*warnings, *await without_price(self._models, actor, graph, document.planner_model_id, model)]
        return NewRun(
            run_id=RunId(self._ids.new()),
            owner_id=actor.owner_id,
            workflow_id=source.workflow_id,
            workflow_name=document.name,
            version=source.version,
            mode=mode,
            graph=graph,
            inputs=inputs.values,
            options=RunOptions(
                default_model=model.name,
                planner_model=document.planner_model_id,
                max_visits=min(document.max_visits or settings.max_visits, MAX_VISITS),
                budget=budget,
                queued_inputs=queued.entries,
                script=document.script,
                parallel_nodes=settings.parallel_nodes,
            ),
            warnings=[fault_on_wire(warning) for warning in (*warnings, *inputs.warnings, *queued.warnings)],
        )

    async def _default_model(
        self, actor: Actor, document: WorkflowDocument, wish: RunWish, settings: SettingsValues
    ) -> ChatModel:
        name = wish.model or default_model(document, settings, embedded_is_ready=self._embedded_is_ready())
        try:
            return await self._models.find(name, owner_id=actor.owner_id)
        except ModelUnknownError as error:
            raise InvalidError(error.message, field="model", fix=error.fix) from error


async def without_price(
    models: ModelCatalog, actor: Actor, graph: Graph, planner: str | None, default: ChatModel
) -> Sequence[Fault]:
    """Warn of each model that a run may ask and whose calls no budget of cost can count."""
    named = [planner, *(node.data.get("model") for node in graph.nodes.values())]
    found = {default.name: default}
    for name in dict.fromkeys(name for name in named if isinstance(name, str) and name):
        # One that cannot be used is told of where the run meets it.
        with suppress(ModelUnknownError, ConfigInvalidError):
            model = await models.find(name, owner_id=actor.owner_id)
            found[model.name] = model
    return [_no_price(model) for model in found.values() if not model.has_price]


def default_model(document: WorkflowDocument, settings: SettingsValues, *, embedded_is_ready: bool) -> str:
    """Return the model of what names none: while the embedded one is not there, a graph with a script plays it."""
    name = settings.default_model
    return SCRIPTED if name == EMBEDDED and document.script is not None and not embedded_is_ready else name


def _source(conn: Connection, actor: Actor, workflow_id: WorkflowId, choice: VersionChoice) -> _Source:
    if choice is None:
        return _Source(find_workflow(conn, actor.owner_id, workflow_id).document, workflow_id)
    document, number = document_of_version(conn, actor, workflow_id, choice)
    return _Source(document, workflow_id, number)


def document_of_version(
    conn: Connection, actor: Actor, workflow_id: WorkflowId, choice: int | Literal["latest"]
) -> tuple[WorkflowDocument, int]:
    """Return a published version and its number. Raises NotFoundError."""
    find_workflow(conn, actor.owner_id, workflow_id)
    number = workflow_history.latest_version(conn, workflow_id) if choice == "latest" else choice
    if number == 0:
        raise NotFoundError("The workflow has no published version.", fix="Publish one, or leave the version out.")
    return find_version(conn, workflow_id, number).document, number


def _open_question(pause: Wire) -> Fault:
    questions = cast("Sequence[Wire]", pause["questions"])
    asked = str(pause["prompt"]) or " ".join(str(question["text"]) for question in questions)
    pause_id = cast("str", pause["pauseId"])
    return Fault(f"{pause_id}: {asked}", cast("str", pause["nodeId"]), fix=f"POST /api/pauses/{pause_id}/answer")


def _no_price(model: ChatModel) -> Fault:
    return Fault(
        f"The budget limits the cost, but the model {model.name!r} has no price.",
        field="budget.cost",
        fix="Give the model entry its prices, or limit tokens instead.",
    )


def fault_on_wire(fault: Fault) -> JsonValue:
    return {"message": fault.message, "node": fault.node, "field": fault.field, "fix": fault.fix}
