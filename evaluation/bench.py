"""Puts a case to the product: the real planner and real runs on the ledger in memory, with the embedded model as default."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pydantic import JsonValue

from evaluation.cases import ConditionCase, PlannerCase
from flyback.domain.errors import ModelUnknownError
from flyback.domain.graph import NodeId
from flyback.domain.graph_file import read_graph
from flyback.domain.run import Mode, RunId, RunUsage
from flyback.engine.agentic.chart import draw_chart
from flyback.engine.agentic.planner import Planner
from flyback.engine.calls import Meter
from flyback.engine.closed import ClosedSkills, Unwatched
from flyback.engine.drive import drive
from flyback.engine.log import RunOptions, RunState
from flyback.engine.parts import Engine
from flyback.engine.ports import ChatModel
from flyback.providers.embedded.host import EmbeddedHost
from flyback.providers.embedded.model import EmbeddedModel
from flyback.providers.limits import CallLimits
from flyback.providers.system import RandomIds, SystemClock, SystemDice
from flyback.storage.memory_log import MemoryLog

_NAME = "embedded"
_OPTIONS = RunOptions(default_model=_NAME)


@dataclass(frozen=True, slots=True)
class Answer:
    chosen: str
    right: bool
    seconds: float
    detail: str


class Bench:
    """One embedded model, and an engine around it."""

    def __init__(self, find_model: Callable[[], Path]) -> None:
        self._host = EmbeddedHost(find_model)
        clock = SystemClock()
        model = EmbeddedModel(self._host, name=_NAME, model=_NAME, clock=clock, limits=CallLimits())
        self._log = MemoryLog(clock)
        self._engine = Engine(
            clock, RandomIds(), SystemDice(), self._log, _OneModel(model), ClosedSkills(), Unwatched()
        )

    async def close(self) -> None:
        await self._host.close()

    async def plan(self, case: PlannerCase) -> Answer:
        """Ask the planner where to go after the case's visits."""
        state = RunState(
            run_id=RunId(str(uuid4())),
            owner_id="",
            workflow_id=None,
            mode=Mode.AGENTIC,
            graph=case.graph,
            inputs=case.inputs,
            options=_OPTIONS,
            epoch=1,
            step=0,
            usage=RunUsage(),
        )
        planner = Planner(state, self._engine, Meter(state, self._engine), draw_chart(case.graph))
        began = time.monotonic()
        decision = (await planner.decide(case.chain, held=False)).decision
        seconds = time.monotonic() - began
        detail = f"{decision.source}, {decision.method}, margin {decision.margin}: {decision.reason}"
        return Answer(decision.next, decision.next in case.expected, seconds, detail)

    async def branch(self, case: ConditionCase) -> Answer:
        """Run a drawing whose only question is the case's condition."""
        graph, faults = read_graph(_condition_graph(case))
        assert not faults, f"the case {case.id!r} has faults: {faults}"
        run_id = RunId(str(uuid4()))
        self._log.accept(run_id, graph, mode=Mode.DAG, options=_OPTIONS, inputs={"message": case.text})
        began = time.monotonic()
        await drive(self._engine, run_id, 0)
        seconds = time.monotonic() - began
        record = self._log.run(run_id).nodes[NodeId("choose")]
        detail = str(record.envelope.data["reason"]) if record.envelope is not None else str(record.error)
        return Answer(record.handle or "none", record.handle == f"branch-{case.expected}", seconds, detail)


def _condition_graph(case: ConditionCase) -> dict[str, JsonValue]:
    places = range(len(case.branches) + 1)
    conditions: list[JsonValue] = [
        {"type": "ELIF" if place else "IF", "expression": expression} for place, expression in enumerate(case.branches)
    ]
    nodes: list[JsonValue] = [
        {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "message", "type": "text"}]}},
        {"id": "choose", "type": "condition", "data": {"conditions": conditions}},
    ]
    nodes.extend({"id": f"out{n}", "type": "output", "data": {"template": str(n)}} for n in places)
    edges: list[JsonValue] = [{"id": "e", "source": "ask", "target": "choose"}]
    edges.extend(
        {"id": f"e{n}", "source": "choose", "target": f"out{n}", "sourceHandle": f"branch-{n}"} for n in places
    )
    return {"nodes": nodes, "edges": edges}


class _OneModel:
    """A catalog that knows the embedded model alone."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def find(self, name: str, *, owner_id: str) -> ChatModel:
        if name != self._model.name:
            raise ModelUnknownError(f"there is no model {name!r} here")
        return self._model
