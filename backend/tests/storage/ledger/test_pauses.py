"""What every run ledger keeps of questions to people: in memory, on SQLite, on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from flyback.domain.answering import Given
from flyback.domain.errors import InputInvalidError, NotFoundError, PauseAnsweredError, PauseClosedError
from flyback.domain.graph import NodeId
from flyback.domain.pause import PauseStatus, Reply
from flyback.domain.run import Mode, RunId, RunStatus, StepStatus
from flyback.engine.log import AnsweredError, FencedError, Journal, RunState
from kit import ledgers
from kit.ledgers import AnyLedger, data_of, ledger, question

RUN = RunId("run-1")
GO = Given([("topic", "tides")], action="go")


@pytest.fixture(params=ledgers.LEDGERS)
async def any_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[AnyLedger]:
    async with ledger(request.param, tmp_path) as opened:
        yield opened


async def _taken_over(any_ledger: AnyLedger) -> RunState:
    await any_ledger.accept(RUN, Mode.DAG)
    return await _again(any_ledger, 0)


async def _again(any_ledger: AnyLedger, segment: int) -> RunState:
    state = await any_ledger.log.take_over(RUN, segment)
    assert state is not None
    return state


async def _resting(any_ledger: AnyLedger, *, waits_seconds: float | None = None) -> RunState:
    state = await _taken_over(any_ledger)
    asked = question("p1", "draft", waits_seconds=waits_seconds)
    await any_ledger.log.commit(ledgers.pause_step(state, 1, asked, rests_at=1))
    return state


async def _kinds(any_ledger: AnyLedger) -> list[str]:
    return [event.type.value for event in await any_ledger.events(RUN)]


async def test_a_run_that_rests_is_paused_and_nobody_drives_it(any_ledger: AnyLedger) -> None:
    await _resting(any_ledger)
    assert await any_ledger.status(RUN) is RunStatus.PAUSED
    assert await any_ledger.log.take_over(RUN, 0) is None
    assert await _kinds(any_ledger) == ["run_started", "clarify_request", "node_status", "run_paused"]


async def test_an_answer_gives_a_resting_run_a_new_segment_and_its_driver_reads_question_and_answer(
    any_ledger: AnyLedger,
) -> None:
    await _resting(any_ledger)
    assert await any_ledger.answer("p1", GO) == 1
    assert await any_ledger.status(RUN) is RunStatus.PENDING
    state = await _again(any_ledger, 1)
    (pause,) = state.pauses
    assert pause.ask == question("p1", "draft").ask
    assert (pause.status, pause.reply) == (PauseStatus.ANSWERED, Reply({"topic": "tides"}, "go"))
    assert (state.told_paused, state.last_event) == (True, 5)
    told = (await any_ledger.events(RUN))[-1]
    assert data_of(told) == {
        "pauseId": "p1",
        "kind": "form",
        "nodeId": "draft",
        "answers": [{"questionId": "topic", "value": "tides"}],
        "action": "go",
        "by": "somebody",
    }


async def test_an_answer_to_a_run_that_is_driven_starts_nothing_and_fences_nobody(any_ledger: AnyLedger) -> None:
    # given a question beside work
    state = await _taken_over(any_ledger)
    await any_ledger.log.commit(ledgers.pause_step(state, 1, question("p1", "draft"), rests_at=None))
    waiting = asyncio.create_task(any_ledger.log.settled(RUN, [question("p1", "ask")], wait=True))
    # when it is answered
    assert await any_ledger.answer("p1", GO) is None
    # then the driver hears of it, and can still write
    (settled,) = await waiting
    assert settled.status is PauseStatus.ANSWERED
    await any_ledger.log.commit(ledgers.node_step(state, 2, ledgers.node("ask", StepStatus.SUCCESS)))
    assert await any_ledger.status(RUN) is RunStatus.RUNNING


async def test_a_run_does_not_rest_over_an_answer_that_its_driver_has_not_seen(any_ledger: AnyLedger) -> None:
    state = await _taken_over(any_ledger)
    await any_ledger.log.commit(ledgers.pause_step(state, 1, question("p1", "draft"), rests_at=None))
    await any_ledger.answer("p1", GO)
    resting = ledgers.pause_step(state, 2, question("p2", "ask"), rests_at=3)
    with pytest.raises(AnsweredError) as answered:
        await any_ledger.log.commit(resting)
    assert answered.value.last_event == 4
    assert await any_ledger.status(RUN) is RunStatus.RUNNING
    await any_ledger.log.commit(ledgers.pause_step(state, 2, question("p2", "ask"), rests_at=4))
    assert await any_ledger.status(RUN) is RunStatus.PAUSED


async def test_given_a_rest_whose_reply_was_lost_when_it_is_tried_again_then_it_is_recognised(
    any_ledger: AnyLedger,
) -> None:
    state = await _taken_over(any_ledger)
    commit = ledgers.pause_step(state, 1, question("p1", "draft"), rests_at=1)
    await any_ledger.log.commit(commit)
    await any_ledger.log.commit(commit)
    await any_ledger.answer("p1", GO)
    await any_ledger.log.commit(commit)
    assert len(await _kinds(any_ledger)) == 5


async def test_the_driver_that_left_a_resting_run_can_write_nothing_more(any_ledger: AnyLedger) -> None:
    state = await _resting(any_ledger)
    with pytest.raises(FencedError):
        await any_ledger.log.commit(ledgers.the_end(state, 2))
    assert await any_ledger.status(RUN) is RunStatus.PAUSED


async def test_the_first_answer_stays(any_ledger: AnyLedger) -> None:
    await _resting(any_ledger)
    await any_ledger.answer("p1", GO, by="Ann")
    assert await any_ledger.answer("p1", GO, by="Bea") is None
    with pytest.raises(PauseAnsweredError) as refused:
        await any_ledger.answer("p1", Given([("topic", "winds")], action="go"), by="Bea")
    assert isinstance(refused.value.current, dict)
    assert (refused.value.current["answeredBy"], refused.value.current["action"]) == ("Ann", "go")
    assert (await _kinds(any_ledger)).count("clarify_answered") == 1


async def test_given_many_answers_at_once_when_all_are_done_then_one_of_them_counts(any_ledger: AnyLedger) -> None:
    await _resting(any_ledger)
    given = [Given([("topic", f"topic {n}")], action="go") for n in range(8)]
    done = await asyncio.gather(*(any_ledger.answer("p1", one) for one in given), return_exceptions=True)
    assert [one for one in done if not isinstance(one, PauseAnsweredError)] == [1]
    assert (await _kinds(any_ledger)).count("clarify_answered") == 1


async def test_given_answers_to_two_questions_at_once_when_both_are_done_then_one_segment_begins(
    any_ledger: AnyLedger,
) -> None:
    state = await _taken_over(any_ledger)
    both = [question("p1", "ask"), question("p2", "draft")]
    await any_ledger.log.commit(ledgers.pause_step(state, 1, *both, rests_at=1))
    done = await asyncio.gather(any_ledger.answer("p1", GO), any_ledger.answer("p2", GO))
    assert sorted(done, key=str) == [1, None]
    again = await _again(any_ledger, 1)
    assert {pause.status for pause in again.pauses} == {PauseStatus.ANSWERED}


async def test_given_an_answer_and_a_cancel_at_once_when_both_are_done_then_the_run_has_one_end(
    any_ledger: AnyLedger,
) -> None:
    await _resting(any_ledger)
    answered, cancelled = await asyncio.gather(
        any_ledger.answer("p1", GO), any_ledger.cancel(RUN), return_exceptions=True
    )
    assert cancelled is RunStatus.CANCELLED
    assert answered == 1 or isinstance(answered, PauseClosedError)
    assert await any_ledger.status(RUN) is RunStatus.CANCELLED
    assert (await _kinds(any_ledger))[-1] == "run_cancelled"


async def test_what_does_not_fit_is_refused_and_the_question_stays_open(any_ledger: AnyLedger) -> None:
    await _resting(any_ledger)
    with pytest.raises(InputInvalidError):
        await any_ledger.answer("p1", Given([("topic", "")], action="go"))
    with pytest.raises(NotFoundError):
        await any_ledger.answer("another", GO)
    assert await any_ledger.answer("p1", GO) == 1


async def test_a_wait_that_is_over_gives_the_run_a_new_segment_once(any_ledger: AnyLedger) -> None:
    await _resting(any_ledger, waits_seconds=60)
    assert await any_ledger.expire(after_seconds=59) == []
    assert await any_ledger.expire(after_seconds=1) == [RUN]
    assert await any_ledger.expire(after_seconds=0) == []
    with pytest.raises(PauseClosedError):
        await any_ledger.answer("p1", GO)
    state = await _again(any_ledger, 1)
    assert state.pauses[0].status is PauseStatus.EXPIRED
    assert (await _kinds(any_ledger))[-1] == "pause_expired"


async def test_a_journal_is_read_back_as_it_was_kept_last_and_is_gone_when_it_is_cleared(any_ledger: AnyLedger) -> None:
    # given work that was kept twice
    state = await _taken_over(any_ledger)
    await any_ledger.log.commit(ledgers.node_step(state, 1, ledgers.node("ask"), ledgers.node("draft")))
    for step, kept in ((2, {"n": 1}), (3, {"n": 2})):
        await any_ledger.log.commit(ledgers.journal_step(state, step, Journal(NodeId("draft"), None, {**kept})))
    # when another goes on
    again = await _again(any_ledger, 0)
    # then it reads what was kept last, and counts no call for it
    assert again.journals == (Journal(NodeId("draft"), None, {"n": 2}),)
    assert list(again.call_counts) == []
    await any_ledger.log.commit(ledgers.journal_step(again, 4, Journal(NodeId("draft"), None, None)))
    assert list((await _again(any_ledger, 0)).journals) == []
