"""The planner: after a visit it decides which node is visited next, and why.

It is asked once, then once more with what was wrong told to the model, then the drawing decides: a fallback never fails,
and is recorded as what it is. A used-up budget is no failure of the planner: it goes up to whoever drives the run.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from flyback.domain.decision import Decision, DecisionMethod, DecisionSource, Rejected
from flyback.domain.errors import ModelUnknownError, NodeError, StorageBusyError, StorageFullError
from flyback.domain.graph import NodeId
from flyback.domain.json_value import mend_text
from flyback.domain.run import NO_USAGE, StepStatus, Usage
from flyback.domain.value import value_type
from flyback.domain.visit import Visit
from flyback.engine.agentic.answer import Answer, Unusable, read_answer
from flyback.engine.agentic.chain import Chain
from flyback.engine.agentic.chart import Chart
from flyback.engine.agentic.digest import Scene
from flyback.engine.agentic.fallback import fall_back
from flyback.engine.agentic.likelihood import LikelihoodChoice, choose
from flyback.engine.agentic.prompt import PromptWriter
from flyback.engine.agentic.reason_stream import ReasonStream
from flyback.engine.agentic.view import Viewer
from flyback.engine.agentic.words import words
from flyback.engine.book import STORAGE_WAIT_SECONDS
from flyback.engine.calls import CallPlace, Meter
from flyback.engine.failpoints import hit
from flyback.engine.log import CallRecord, Forced, RunState
from flyback.engine.parts import Engine
from flyback.engine.ports import ChatModel, Message
from flyback.engine.shown import cut

TRIES = 2
_REJECTED_CHARACTERS = 2000
_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 60.0

_log = logging.getLogger(__name__)


@value_type
class Decided:
    decision: Decision
    calls: tuple[CallRecord, ...]
    """The calls it took, which no commit holds yet."""


@dataclass(slots=True)
class _Asked:
    """What was asked after one visit so far."""

    began: float
    places: list[CallPlace] = field(default_factory=list[CallPlace])
    """One a try."""
    rejected: list[Rejected] = field(default_factory=list[Rejected])
    model: str | None = None


@dataclass(frozen=True, slots=True)
class _Failed:
    """A try that gave no node."""

    why: str
    answer: str = ""
    error: NodeError | None = None


class Planner:
    """The planner of one run, while one driver drives it."""

    def __init__(self, state: RunState, engine: Engine, meter: Meter, chart: Chart) -> None:
        options = state.options
        self._state = state
        self._engine = engine
        self._meter = meter
        self._chart = chart
        self._viewer = Viewer(chart, state.task, max_visits=options.max_visits, budget=options.budget)
        self._writer = PromptWriter(chart)
        self._held = False
        self._places: list[CallPlace] = []

    async def decide(self, chain: Chain, *, held: bool) -> Decided:
        """Decide where to go after the last visit of the chain, which has ended.

        `held`: the live text waits until `release` is called.

        Raises:
            BudgetExceededError, RunTimeoutError: the planner may not be asked.
        """
        visit = chain.last
        asked = _Asked(began=self._engine.clock.monotonic())
        self._held, self._places = held, asked.places
        try:
            model = await self._model()
        except ModelUnknownError as error:
            return self._fall_back(visit, asked, cause=_told(error))
        asked.model = model.name
        if model.decider is not None and self._has_one_way(visit):
            return self._only_choice(visit, asked)
        return await self._ask(model, chain, asked)

    def follow(self, visit: Visit, forced: Forced) -> Decided:
        """Decide as a person has decided already."""
        reason = forced.reason or words(chinese=self._chart.chinese).by_person
        asked = _Asked(began=self._engine.clock.monotonic())
        return self._decided(visit, asked, forced.next, reason, "person")

    def release(self) -> None:
        """Let the planner's live text go: the visit is committed."""
        self._held = False
        for place in self._places:
            place.release()

    async def _ask(self, model: ChatModel, chain: Chain, asked: _Asked) -> Decided:
        messages = self._write(chain) if model.decider is None else []
        failed: _Failed | None = None
        while len(asked.places) < TRIES:
            if failed is not None:
                messages = self._writer.write_again(messages, failed.answer, failed.why) if messages else []
                await self._wait_after(failed.error)
            hit("planner.before")
            found = await self._try(model, chain, messages, asked)
            hit("planner.after")
            if not isinstance(found, _Failed):
                return self._chosen(chain.last, asked, found)
            failed = found
            asked.rejected.append(Rejected(mend_text(cut(failed.answer, _REJECTED_CHARACTERS)), failed.why))
        assert failed is not None, "there is at least one try"
        return self._fall_back(chain.last, asked, cause=failed.why)

    async def _try(
        self, model: ChatModel, chain: Chain, messages: Sequence[Message], asked: _Asked
    ) -> Answer | LikelihoodChoice | _Failed:
        visit, attempt = chain.last, len(asked.places) + 1
        place = self._meter.at(visit.node_id, visit.visit_id, "planner", attempt, held=self._held)
        asked.places.append(place)
        try:
            if model.decider is not None:
                scene = Scene(self._chart, self._state.task, chain.visits, chain.workspace)
                return await choose(scene, model=model, place=place, clock=self._engine.clock)
            reply = await place.ask(
                model, messages, schema=self._writer.schema, purpose="decision", on_text=ReasonStream()
            )
        except NodeError as error:
            return _Failed(_told(error), error=error)
        read = read_answer(reply.text, self._chart.names, chinese=self._chart.chinese)
        return _Failed(read.why, answer=reply.text) if isinstance(read, Unusable) else read

    def _write(self, chain: Chain) -> list[Message]:
        messages = self._writer.write(self._viewer.look(chain, self._meter.usage))
        if _log.isEnabledFor(logging.DEBUG):
            text = "\n\n".join(message.text for message in messages)
            _log.debug("run %s: the planner is asked after visit %d:\n%s", self._state.run_id, len(chain.visits), text)
        return messages

    async def _model(self) -> ChatModel:
        options = self._state.options
        name = options.planner_model or options.default_model
        while True:
            try:
                return await self._engine.models.find(name, owner_id=self._state.owner_id)
            except (StorageBusyError, StorageFullError) as trouble:
                _log.warning("run %s: the planner waits for the storage: %s", self._state.run_id, trouble)
                await self._engine.clock.sleep(STORAGE_WAIT_SECONDS)

    async def _wait_after(self, error: NodeError | None) -> None:
        """Give a provider that is out of breath a moment, as long as it asks for."""
        if error is None or not error.transient:
            return
        wanted = error.retry_after_seconds
        seconds = _WAIT_SECONDS * self._engine.dice.uniform(0.8, 1.2) if wanted is None else max(wanted, 0.0)
        await self._engine.clock.sleep(min(seconds, _LONGEST_WAIT_SECONDS))

    def _has_one_way(self, visit: Visit) -> bool:
        """Whether a small model is spared: an input that was entered for the first time, with one drawn edge."""
        entered = visit.node_type == "userInput" and visit.iter_seq == 1 and visit.status is StepStatus.SUCCESS
        return entered and len(self._chart.graph.edges_from(visit.node_id)) == 1

    def _only_choice(self, visit: Visit, asked: _Asked) -> Decided:
        target = self._chart.graph.edges_from(visit.node_id)[0].target
        reason = words(chinese=self._chart.chinese).only_choice
        return self._decided(visit, asked, target, reason, "only_choice")

    def _chosen(self, visit: Visit, asked: _Asked, found: Answer | LikelihoodChoice) -> Decided:
        if isinstance(found, Answer):
            return self._decided(visit, asked, found.next, found.reason, "planner", method="json")
        return self._decided(visit, asked, found.next, found.reason, "planner", method=found.method, likelihood=found)

    def _fall_back(self, visit: Visit, asked: _Asked, *, cause: str) -> Decided:
        _log.warning("run %s: the planner failed after visit %s: %s", self._state.run_id, visit.visit_id, cause)
        found = fall_back(self._chart.graph, visit, cause=cause, chinese=self._chart.chinese)
        return self._decided(visit, asked, found.next, found.reason, "fallback", cause=cause)

    def _decided(
        self,
        visit: Visit,
        asked: _Asked,
        next_node: NodeId,
        reason: str,
        source: DecisionSource,
        *,
        cause: str | None = None,
        method: DecisionMethod | None = None,
        likelihood: LikelihoodChoice | None = None,
    ) -> Decided:
        decision = Decision(
            next=next_node,
            reason=reason,
            source=source,
            on_canvas=self._chart.graph.is_drawn(visit.node_id, next_node, visit.handle),
            cause=cause,
            model=asked.model,
            method=method,
            scores=likelihood.scores if likelihood else None,
            margin=likelihood.margin if likelihood else None,
            left_out=likelihood.left_out if likelihood else (),
            usage=reduce(Usage.plus, (place.usage for place in asked.places), NO_USAGE),
            latency_ms=round((self._engine.clock.monotonic() - asked.began) * 1000),
            attempts=len(asked.places),
            rejected=tuple(asked.rejected),
        )
        return Decided(decision, tuple(record for place in asked.places for record in place.take_records()))


def _told(error: NodeError) -> str:
    return f"{error.code}: {error.message}"
