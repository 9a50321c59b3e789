"""The runs that a process drives: cancelled at once, handed back in order, failed where the program itself is at fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from flyback.dispatch.local import LocalDispatcher
from flyback.domain.answering import Given
from flyback.domain.run import RunId
from flyback.engine.log import Commit
from flyback.providers.system import SystemClock
from flyback.storage import tables as t
from flyback.storage.ledger import Ledger
from kit.checker import faults
from kit.databases import new_url
from kit.drawing import draw
from kit.durable import Workshop, new_run
from kit.journals import begun
from kit.studio import script_of
from kit.subscriptions import next_within

RUN = RunId("run-1")
FORM: dict[str, JsonValue] = {"type": "humanInput", "form": [{"name": "colour", "required": True}]}


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncGenerator[Workshop]:
    opened = await Workshop.open(new_url("sqlite", tmp_path), tmp_path / "scripted.jsonl")
    yield opened
    await opened.database.close()


async def _accept(workshop: Workshop, *, draft: dict[str, JsonValue], run_id: RunId = RUN) -> None:
    graph = draw("ask -> draft -> answer", ask={"variables": [{"name": "topic"}]})
    script = script_of(graph, ["draft", "answer"], {"draft": [draft, draft]})
    given: dict[str, JsonValue] = {
        "id": run_id,
        "mode": "AGENTIC",
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script,
    }
    await workshop.database.write(lambda conn: workshop.ledger.accept_in(conn, new_run(given)))


async def _in_call(workshop: Workshop, run_id: RunId = RUN) -> None:
    """Wait until the draft is at work."""
    with workshop.hub.subscribe(run_id) as subscription:
        while not any(
            '"nodeId":"draft","status":"RUNNING"' in event.data_json
            for event in await workshop.ledger.events_after(run_id, 0)
        ):
            await next_within(subscription, 1)


async def _row(workshop: Workshop) -> tuple[str, int, int]:
    r = t.workflow_runs.c
    asked = sa.select(r.status, r.segment, r.deaths)
    return await workshop.database.read(lambda conn: tuple(conn.execute(asked).one()))


async def test_given_a_call_that_hangs_when_the_run_is_cancelled_then_it_is_aborted_at_once(
    workshop: Workshop, tmp_path: Path
) -> None:
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    await _accept(workshop, draft={"hang": True})
    await dispatcher.launch(RUN, 0)
    await _in_call(workshop)
    await workshop.ledger.cancel(RUN, by="somebody")
    async with asyncio.timeout(2):
        await dispatcher.cancel_live(RUN)
        await dispatcher.finished(RUN)
    assert await workshop.database.read(lambda conn: faults(conn, RUN)) == []
    assert [call.aborted for call in begun(tmp_path / "scripted.jsonl") if call.node_id == "draft"] == [True]


async def test_given_a_step_at_work_when_the_process_stops_then_it_is_finished_and_the_run_handed_back(
    workshop: Workshop, tmp_path: Path
) -> None:
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    await _accept(workshop, draft={"text": "one", "delayMs": 100})
    await dispatcher.launch(RUN, 0)
    await _in_call(workshop)
    await dispatcher.stop(grace_seconds=20)
    assert await _row(workshop) == ("PENDING", 1, 0)
    assert all(not call.aborted for call in begun(tmp_path / "scripted.jsonl") if call.role == "node")
    again = LocalDispatcher(workshop.engine, workshop.ledger)
    await again.launch(RUN, 1)
    await again.finished(RUN)
    assert await workshop.database.read(lambda conn: faults(conn, RUN)) == []
    drafts = [call for call in begun(tmp_path / "scripted.jsonl") if call.node_id == "draft" and call.role == "node"]
    assert len(drafts) == 1


async def test_given_a_step_that_does_not_end_when_the_time_is_up_then_it_is_cut_and_the_run_handed_back(
    workshop: Workshop,
) -> None:
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    await _accept(workshop, draft={"hang": True})
    await dispatcher.launch(RUN, 0)
    await _in_call(workshop)
    await dispatcher.stop(grace_seconds=0.01)
    assert await _row(workshop) == ("PENDING", 1, 0)


async def test_given_a_run_that_is_driven_when_it_is_launched_again_then_nothing_happens(workshop: Workshop) -> None:
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    await _accept(workshop, draft={"text": "one"})
    await dispatcher.launch(RUN, 0)
    await dispatcher.launch(RUN, 0)
    await dispatcher.finished(RUN)
    r = t.workflow_runs.c
    assert await workshop.database.read(lambda conn: conn.execute(sa.select(r.epoch)).scalar_one()) == 1


class _NoDice:
    def uniform(self, low: float, high: float) -> float:
        raise AssertionError("broken")


async def test_given_a_part_that_breaks_when_a_run_is_driven_then_that_run_has_its_end(workshop: Workshop) -> None:
    broken = replace(workshop.engine, dice=_NoDice())
    dispatcher = LocalDispatcher(broken, workshop.ledger)
    await _accept(workshop, draft={"httpError": 503})
    await dispatcher.launch(RUN, 0)
    await dispatcher.finished(RUN)
    assert await workshop.database.read(lambda conn: faults(conn, RUN)) == []


class _LateReply(Ledger):
    """A ledger whose reply to a run that rests comes late: what is stored can be seen before its driver knows."""

    def __init__(self, workshop: Workshop) -> None:
        super().__init__(workshop.database, workshop.hub, clock=SystemClock(), worker_id="late")
        self.stored, self.replied = asyncio.Event(), asyncio.Event()

    async def commit(self, commit: Commit) -> None:
        await super().commit(commit)
        if commit.rests is not None:
            self.stored.set()
            await self.replied.wait()


async def test_given_an_answer_while_the_pausing_segment_is_still_returning_then_the_run_goes_on(
    workshop: Workshop,
) -> None:
    # given a run whose question is stored, while its driver has not heard of that
    graph = draw("ask -> form -> answer", ask={"variables": [{"name": "topic"}]}, form=FORM)
    given: dict[str, JsonValue] = {
        "id": RUN,
        "mode": "AGENTIC",
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script_of(graph, ["form", "answer"], {}),
    }
    await workshop.database.write(lambda conn: workshop.ledger.accept_in(conn, new_run(given)))
    ledger = _LateReply(workshop)
    dispatcher = LocalDispatcher(workshop.engine, ledger)
    await dispatcher.launch(RUN, 0)
    await ledger.stored.wait()
    # when it is answered
    asked = sa.select(t.workflow_pauses.c.id)
    pause_id = await workshop.database.read(lambda conn: conn.execute(asked).scalar_one())
    settled = await ledger.answer(pause_id, Given(answer="red"), owner_id="local", by="somebody")
    assert settled.segment == 1
    await dispatcher.launch(RUN, 1)
    await dispatcher.launch(RUN, 1)
    ledger.replied.set()
    # then its next segment is driven as soon as the one before has returned, once
    await dispatcher.finished(RUN)
    assert await _row(workshop) == ("SUCCESS", 1, 0)
    assert await workshop.database.read(lambda conn: faults(conn, RUN)) == []
    epoch = sa.select(t.workflow_runs.c.epoch)
    assert await workshop.database.read(lambda conn: conn.execute(epoch).scalar_one()) == 2
