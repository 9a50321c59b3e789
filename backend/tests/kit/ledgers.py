"""Every run ledger there is, behind the same few calls, for tests of what they have in common."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol, cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.answering import Given
from flyback.domain.decision import Decision
from flyback.domain.envelope import Envelope
from flyback.domain.events import NewEvent, StoredEvent
from flyback.domain.graph import NodeId
from flyback.domain.inputs import Variable
from flyback.domain.pause import Action, Ask, Pause, Question
from flyback.domain.run import Mode, RunId, RunStatus, RunUsage, StepStatus, Usage, VisitId
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace
from flyback.engine import event_data
from flyback.engine.log import Commit, Journal, NodeRecord, Rest, RunEnd, RunLog, RunOptions, RunState
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger, NewRun
from flyback.storage.memory_log import MemoryLog
from kit.clock import HandClock
from kit.databases import new_url, opened
from kit.drawing import draw

GRAPH = draw("ask -> draft -> answer", ask={"variables": [{"name": "topic"}]})
LEDGERS = ("memory", "sqlite", "postgresql")


class AnyLedger(Protocol):
    """A ledger with the little that a test needs besides."""

    log: RunLog

    async def accept(self, run_id: RunId, mode: Mode) -> None: ...
    async def cancel(self, run_id: RunId) -> RunStatus: ...
    async def hand_back(self, state: RunState) -> int: ...
    async def answer(self, pause_id: str, given: Given, *, by: str = "somebody") -> int | None:
        """Answer a question; return the segment that is to be started, None where none is."""
        ...

    async def expire(self, *, after_seconds: float) -> Sequence[RunId]:
        """Let time pass, and end the waits that are over; return the runs that are to be started."""
        ...

    async def events(self, run_id: RunId) -> Sequence[StoredEvent]: ...
    async def status(self, run_id: RunId) -> RunStatus: ...


@asynccontextmanager
async def ledger(kind: str, folder: Path) -> AsyncGenerator[AnyLedger]:
    if kind == "memory":
        yield InMemory()
        return
    async with opened(new_url(kind, folder)) as database:
        clock = HandClock()
        yield InDatabase(Ledger(database, Hub(), clock=clock, worker_id="me"), clock)


def nowhere(conn: sa.Connection, run_id: RunId, segment: int) -> None:
    """A queue that nobody works on."""


class InMemory:
    def __init__(self) -> None:
        self._clock = HandClock()
        self._memory = MemoryLog(self._clock)
        self.log: RunLog = self._memory

    async def accept(self, run_id: RunId, mode: Mode) -> None:
        self._memory.accept(run_id, GRAPH, mode=mode, options=RunOptions("scripted"), inputs={"topic": "tides"})

    async def cancel(self, run_id: RunId) -> RunStatus:
        return self._memory.cancel(run_id, by="somebody")

    async def hand_back(self, state: RunState) -> int:
        return self._memory.hand_back(state.run_id)

    async def answer(self, pause_id: str, given: Given, *, by: str = "somebody") -> int | None:
        before = {run.run_id: run.segment for run in self._memory.runs}
        run = self._memory.answer(pause_id, given, by=by)
        return run.segment if run.segment > before[run.run_id] else None

    async def expire(self, *, after_seconds: float) -> Sequence[RunId]:
        await self._clock.advance(after_seconds)
        return [run.run_id for run in self._memory.expire()]

    async def events(self, run_id: RunId) -> Sequence[StoredEvent]:
        return self._memory.events_of(run_id)

    async def status(self, run_id: RunId) -> RunStatus:
        return self._memory.run(run_id).status


class InDatabase:
    def __init__(self, ledger: Ledger, clock: HandClock) -> None:
        self.ledger = ledger
        self._clock = clock
        self.log: RunLog = ledger

    async def accept(self, run_id: RunId, mode: Mode) -> None:
        run = NewRun(
            run_id=run_id,
            owner_id="local",
            mode=mode,
            graph=GRAPH,
            inputs={"topic": "tides"},
            options=RunOptions("scripted"),
        )
        await self.ledger.database.write(lambda conn: self.ledger.accept_in(conn, run))

    async def cancel(self, run_id: RunId) -> RunStatus:
        return await self.ledger.cancel(run_id, by="somebody")

    async def hand_back(self, state: RunState) -> int:
        assert await self.ledger.hand_back(state.run_id, state.epoch, nowhere)
        segment = await self.ledger.segment_of(state.run_id)
        assert segment is not None
        return segment

    async def answer(self, pause_id: str, given: Given, *, by: str = "somebody") -> int | None:
        return (await self.ledger.answer(pause_id, given, owner_id="local", by=by)).segment

    async def expire(self, *, after_seconds: float) -> Sequence[RunId]:
        await self._clock.advance(after_seconds)
        return [run.run_id for run in await self.ledger.expire_due()]

    async def events(self, run_id: RunId) -> Sequence[StoredEvent]:
        return await self.ledger.events_after(run_id, 0)

    async def status(self, run_id: RunId) -> RunStatus:
        asked = sa.text("SELECT status FROM workflow_runs WHERE run_uuid = :run")
        return RunStatus(
            await self.ledger.database.read(lambda conn: conn.execute(asked, {"run": run_id}).scalar_one())
        )


# Steps of a run, as a driver would commit them.


def visit(place: int, node_id: str, *, came_from: Visit | None = None) -> Visit:
    return Visit(
        visit_id=VisitId(f"visit-{place}"),
        node_id=NodeId(node_id),
        node_type="llm",
        node_label=node_id.title(),
        iter_seq=1,
        sort_order=place,
        from_visit_id=came_from.visit_id if came_from else None,
        from_node_id=came_from.node_id if came_from else None,
        on_canvas=True,
        started_at=HandClock().now(),
    )


def begin(state: RunState, first: Visit) -> Commit:
    return _commit(state, 1, events=[event_data.visit_running(first)], started=first)


def outcome(state: RunState, step: int, ended: Visit, before: Workspace) -> Commit:
    events = [event_data.visit_ended(ended), event_data.visit_recorded(ended, before)]
    return _commit(state, step, events=events, visit=ended)


def decision(state: RunState, step: int, decided: Visit, started: Visit, after: Workspace) -> Commit:
    events = [event_data.planner_decision(decided), event_data.visit_running(started)]
    return _commit(state, step, events=events, decided=decided, workspace=after, started=started)


def the_end(state: RunState, step: int, status: RunStatus = RunStatus.SUCCESS) -> Commit:
    end = RunEnd(status)
    return _commit(state, step, events=[event_data.workflow_complete([], RunUsage(), visit_count=None)], end=end)


def node_step(state: RunState, step: int, *records: NodeRecord) -> Commit:
    events = [event_data.node_running(record.node_id, attempt=1) for record in records]
    return _commit(state, step, events=events, nodes=records)


def question(pause_id: str, node_id: str, *, waits_seconds: float | None = None, of: Visit | None = None) -> Pause:
    now = HandClock().now()
    ask = Ask(
        "form",
        [Question("topic", "Topic", variable=Variable("topic", required=True))],
        prompt="Which one?",
        actions=[Action("go", "Go"), Action("stop", "Stop")],
        state={"v": 1, "kept": ["a", 1]},
        on_timeout="default",
    )
    expires_at = None if waits_seconds is None else now + timedelta(seconds=waits_seconds)
    return Pause(pause_id, NodeId(node_id), of.visit_id if of else None, ask, created_at=now, expires_at=expires_at)


def pause_step(state: RunState, step: int, *pauses: Pause, rests_at: int | None) -> Commit:
    """The nodes of these questions wait; with `rests_at` the run does too."""
    events = [event for one in pauses for event in (event_data.clarify_request(one), _paused(one))]
    if rests_at is not None:
        events.append(event_data.run_paused(pauses))
    nodes = [node(one.node_id, StepStatus.PAUSED) for one in pauses]
    rests = Rest(rests_at) if rests_at is not None else None
    return _commit(state, step, events=events, nodes=nodes, pauses=pauses, rests=rests)


def journal_step(state: RunState, step: int, journal: Journal) -> Commit:
    return _commit(state, step, events=[], journals=[journal])


def _paused(pause: Pause) -> NewEvent:
    return event_data.node_paused(pause.node_id, attempt=1, visit_id=pause.visit_id)


def node(node_id: str, status: StepStatus = StepStatus.RUNNING) -> NodeRecord:
    return NodeRecord(NodeId(node_id), "llm", node_id.title(), status, started_at=HandClock().now())


def chosen(next_node: str) -> Decision:
    return Decision(NodeId(next_node), "because", "planner", on_canvas=True, model="scripted", usage=Usage(3, 2, 1))


def gave(node_id: str, **data: JsonValue) -> Envelope:
    return Envelope(NodeId(node_id), "llm", data)


def data_of(event: StoredEvent) -> Mapping[str, JsonValue]:
    return cast("Mapping[str, JsonValue]", json.loads(event.data_json))


def _commit(state: RunState, step: int, **parts: object) -> Commit:
    return replace(Commit(state.run_id, state.epoch, step, RunUsage(), events=()), **parts)
