"""What every run ledger keeps: in memory, on SQLite, on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from flyback.domain.events import EventType
from flyback.domain.run import Mode, RunId, RunStatus, StepStatus
from flyback.domain.workspace import Workspace
from flyback.engine.log import FencedError, RunState
from kit import ledgers
from kit.clock import HandClock
from kit.ledgers import AnyLedger, data_of, ledger, visit

RUN = RunId("run-1")
INPUTS = Workspace.of_inputs({"topic": "tides"})


@pytest.fixture(params=ledgers.LEDGERS)
async def any_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[AnyLedger]:
    async with ledger(request.param, tmp_path) as opened:
        yield opened


async def _taken_over(any_ledger: AnyLedger, mode: Mode = Mode.AGENTIC) -> RunState:
    await any_ledger.accept(RUN, mode)
    state = await any_ledger.log.take_over(RUN, 0)
    assert state is not None
    return state


async def _seen(any_ledger: AnyLedger) -> list[tuple[int, str]]:
    return [(event.seq, event.type.value) for event in await any_ledger.events(RUN)]


async def test_an_accepted_run_is_pending_and_its_first_event_says_so(any_ledger: AnyLedger) -> None:
    await any_ledger.accept(RUN, Mode.AGENTIC)
    assert await any_ledger.status(RUN) is RunStatus.PENDING
    assert await _seen(any_ledger) == [(1, "run_started")]


async def test_whoever_takes_over_reads_a_fresh_run_and_makes_it_running(any_ledger: AnyLedger) -> None:
    state = await _taken_over(any_ledger)
    assert (state.fresh, state.epoch, state.step, state.last_event) == (True, 1, 0, 1)
    assert (state.inputs, state.options.default_model) == ({"topic": "tides"}, "scripted")
    assert await any_ledger.status(RUN) is RunStatus.RUNNING


async def test_given_whole_steps_when_another_takes_over_then_it_reads_what_was_committed(
    any_ledger: AnyLedger,
) -> None:
    # given a visit, its outcome, its decision and the next visit
    state = await _taken_over(any_ledger)
    first = visit(0, "ask")
    await any_ledger.log.commit(ledgers.begin(state, first))
    envelope = ledgers.gave("ask", topic="tides")
    after = INPUTS.after(envelope, writer=0)
    ended = replace(
        first,
        status=StepStatus.SUCCESS,
        attempts=1,
        envelope=envelope,
        writers=after.writers,
        handle="output",
        finished_at=HandClock().now(),
    )
    await any_ledger.log.commit(ledgers.outcome(state, 2, ended, INPUTS))
    decided = replace(ended, decision=ledgers.chosen("draft"))
    second = visit(1, "draft", came_from=first)
    await any_ledger.log.commit(ledgers.decision(state, 3, decided, second, after))
    # when somebody else takes over
    again = await any_ledger.log.take_over(RUN, 0)
    # then nothing is missing, and the numbers go on
    assert again is not None
    assert again.visits == (decided, second)
    assert (again.fresh, again.epoch, again.step, again.last_event) == (False, 2, 3, 6)
    kinds = ["run_started", "node_status", "node_status", "visit_recorded", "planner_decision", "node_status"]
    assert await _seen(any_ledger) == list(enumerate(kinds, 1))


async def test_given_a_new_driver_when_the_old_one_commits_then_nothing_is_written(any_ledger: AnyLedger) -> None:
    old = await _taken_over(any_ledger)
    await any_ledger.log.commit(ledgers.begin(old, visit(0, "ask")))
    assert await any_ledger.log.take_over(RUN, 0) is not None
    with pytest.raises(FencedError):
        await any_ledger.log.commit(ledgers.the_end(old, 2))
    assert await any_ledger.status(RUN) is RunStatus.RUNNING
    assert await _seen(any_ledger) == [(1, "run_started"), (2, "node_status")]


async def test_given_a_reply_that_was_lost_when_the_commit_is_tried_again_then_it_is_recognised(
    any_ledger: AnyLedger,
) -> None:
    state = await _taken_over(any_ledger)
    commit = ledgers.begin(state, visit(0, "ask"))
    await any_ledger.log.commit(commit)
    await any_ledger.log.commit(commit)
    assert await _seen(any_ledger) == [(1, "run_started"), (2, "node_status")]


async def test_given_an_end_whose_reply_was_lost_when_it_is_tried_again_then_it_is_recognised(
    any_ledger: AnyLedger,
) -> None:
    state = await _taken_over(any_ledger)
    await any_ledger.log.commit(ledgers.the_end(state, 1))
    await any_ledger.log.commit(ledgers.the_end(state, 1))
    assert await any_ledger.status(RUN) is RunStatus.SUCCESS
    assert await _seen(any_ledger) == [(1, "run_started"), (2, "workflow_complete")]


async def test_nobody_takes_over_a_run_that_has_its_end(any_ledger: AnyLedger) -> None:
    state = await _taken_over(any_ledger)
    await any_ledger.log.commit(ledgers.the_end(state, 1))
    assert await any_ledger.log.take_over(RUN, 0) is None


async def test_given_a_visit_at_work_when_the_run_is_cancelled_then_all_is_closed_and_the_driver_is_fenced(
    any_ledger: AnyLedger,
) -> None:
    state = await _taken_over(any_ledger)
    first = visit(0, "ask")
    await any_ledger.log.commit(ledgers.begin(state, first))
    assert await any_ledger.cancel(RUN) is RunStatus.CANCELLED
    with pytest.raises(FencedError):
        await any_ledger.log.commit(ledgers.outcome(state, 2, replace(first, status=StepStatus.SUCCESS), INPUTS))
    told = await any_ledger.events(RUN)
    assert [event.type for event in told[2:]] == [
        EventType.NODE_STATUS,
        EventType.VISIT_RECORDED,
        EventType.RUN_CANCELLED,
    ]
    assert [data_of(event).get("status") for event in told[2:4]] == ["CANCELLED", "CANCELLED"]
    assert data_of(told[4]) == {"by": "somebody"}


async def test_given_nodes_at_work_when_the_run_is_cancelled_then_each_of_them_is_closed(any_ledger: AnyLedger) -> None:
    state = await _taken_over(any_ledger, Mode.DAG)
    await any_ledger.log.commit(ledgers.node_step(state, 1, ledgers.node("ask"), ledgers.node("draft")))
    await any_ledger.cancel(RUN)
    told = [data_of(event) for event in (await any_ledger.events(RUN))[3:]]
    assert [(data.get("nodeId"), data.get("status")) for data in told] == [
        ("ask", "CANCELLED"),
        ("draft", "CANCELLED"),
        (None, None),
    ]


async def test_cancelling_twice_is_as_good_as_once_and_an_end_stays(any_ledger: AnyLedger) -> None:
    state = await _taken_over(any_ledger)
    await any_ledger.log.commit(ledgers.the_end(state, 1))
    assert await any_ledger.cancel(RUN) is RunStatus.SUCCESS
    assert await any_ledger.cancel(RUN) is RunStatus.SUCCESS
    assert len(await _seen(any_ledger)) == 2


async def test_given_a_finish_and_a_cancel_at_once_when_both_are_done_then_there_is_one_end(
    any_ledger: AnyLedger,
) -> None:
    state = await _taken_over(any_ledger)
    finished, cancelled = await asyncio.gather(
        any_ledger.log.commit(ledgers.the_end(state, 1)), any_ledger.cancel(RUN), return_exceptions=True
    )
    won = RunStatus.CANCELLED if isinstance(finished, FencedError) else RunStatus.SUCCESS
    assert cancelled is won
    assert await any_ledger.status(RUN) is won
    assert len(await _seen(any_ledger)) == 2


async def test_given_a_run_that_was_handed_back_when_the_old_driver_commits_then_it_is_fenced(
    any_ledger: AnyLedger,
) -> None:
    state = await _taken_over(any_ledger)
    segment = await any_ledger.hand_back(state)
    assert segment == 1
    assert await any_ledger.log.take_over(RUN, 0) is None
    again = await any_ledger.log.take_over(RUN, 1)
    assert again is not None
    with pytest.raises(FencedError):
        await any_ledger.log.commit(ledgers.begin(state, visit(0, "ask")))
    await any_ledger.log.commit(ledgers.begin(again, visit(0, "ask")))


async def test_given_many_commits_and_cancels_at_once_when_all_are_done_then_no_number_is_missing(
    any_ledger: AnyLedger,
) -> None:
    runs = [RunId(f"run-{n}") for n in range(20)]

    async def drive(run_id: RunId, halfway: asyncio.Event) -> None:
        await any_ledger.accept(run_id, Mode.DAG)
        state = await any_ledger.log.take_over(run_id, 0)
        assert state is not None
        for step in range(1, 8):
            await any_ledger.log.commit(ledgers.node_step(state, step, ledgers.node(f"n{step}")))
            if step == 3:
                halfway.set()
        await any_ledger.log.commit(ledgers.the_end(state, 8))

    async def disturb(run_id: RunId, halfway: asyncio.Event) -> None:
        await halfway.wait()
        await any_ledger.cancel(run_id)

    halfways = {run_id: asyncio.Event() for run_id in runs}
    drives = [drive(run_id, halfway) for run_id, halfway in halfways.items()]
    cancels = [disturb(run_id, halfways[run_id]) for run_id in runs[::3]]
    results = await asyncio.gather(*drives, *cancels, return_exceptions=True)
    assert all(result is None or isinstance(result, RunStatus | FencedError) for result in results)
    for run_id in runs:
        events = await any_ledger.events(run_id)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [event.type in {EventType.WORKFLOW_COMPLETE, EventType.RUN_CANCELLED} for event in events] == [
            *[False] * (len(events) - 1),
            True,
        ]
