"""DAG mode after a death: what was committed is not done again, what was interrupted starts again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from flyback.domain.run import RunId, RunStatus
from kit.clock import settled
from kit.studio import SeenRun, Studio


async def _kill(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _go_on(studio: Studio, run_id: RunId) -> SeenRun:
    studio.log.hand_back(run_id)
    await studio.clock.run_through(studio.start(run_id))
    return studio.look(run_id)


async def test_given_a_death_in_a_parallel_level_only_the_interrupted_nodes_start_again(studio: Studio) -> None:
    # given a driver that dies while one of two parallel nodes is done
    graph = studio.draw("in -> a -> join; in -> b -> join; join -> out", join={"userPrompt": "{{a.text}}{{b.text}}"})
    studio.hold("b")
    run_id = studio.accept(graph, answers={"a": "A", "b": "B", "join": "J"})
    task = studio.start(run_id)
    await settled()
    await _kill(task)
    # when another one goes on
    studio.let_go("b")
    run = await _go_on(studio, run_id)
    # then a was not asked again, b was, under the same key, and its second start is marked
    assert run.status is RunStatus.SUCCESS
    assert len(run.asked("a")) == 1
    assert [call.key for call in run.asked("b")] == [f"{run_id}/b/node-1"] * 2
    starts = [event.data for event in run.events if event.short == "b RUNNING"]
    assert [start.get("recovered", False) for start in starts] == [False, True]
    assert [start["attempt"] for start in starts] == [1, 1]
    assert run.prompts_of("join") == ["AB"]


async def test_given_a_death_between_two_attempts_the_failed_one_counts(studio: Studio) -> None:
    # given a node whose first attempt failed, and a driver that dies while it waits for the next
    graph = studio.draw("in -> a -> out", a={"maxRetries": 1})
    run_id = studio.accept(graph, answers={"a": [{"httpError": 500}, {"httpError": 503}, {"text": "too late"}]})
    task = studio.start(run_id)
    await settled()
    await _kill(task)
    # when another one goes on
    run = await _go_on(studio, run_id)
    # then there is one attempt left, under a new key
    assert run.status is RunStatus.FAILED
    assert run.node("a").attempts == 2
    assert [call.key for call in run.asked("a")] == [f"{run_id}/a/node-1", f"{run_id}/a/node-2"]


async def test_given_somebody_else_drives_the_old_driver_writes_nothing_more(studio: Studio) -> None:
    # given a driver that is frozen in a model call
    graph = studio.draw("in -> a -> out")
    studio.hold("a")
    run_id = studio.accept(graph, answers={"a": "A"})
    old = studio.start(run_id)
    await settled()
    # when a second one takes over, and the first wakes up
    studio.log.hand_back(run_id)
    new = studio.start(run_id)
    await settled()
    studio.let_go("a")
    await asyncio.gather(old, new)
    # then there is one end, and each node ended once
    run = studio.look(run_id)
    assert run.story.count("workflow_complete") == 1
    assert run.story.count("a SUCCESS") == 1


async def test_given_a_cancel_the_run_has_one_end_and_its_call_is_aborted(studio: Studio) -> None:
    # given a run that hangs
    graph = studio.draw("in -> a -> out; in -> b -> out")
    run_id = studio.accept(graph, answers={"a": [{"hang": True}], "b": [{"hang": True}]})
    task = studio.start(run_id)
    await settled()
    # when it is cancelled
    assert studio.log.cancel(run_id, "me") is RunStatus.CANCELLED
    await _kill(task)
    # then its nodes are closed, the calls aborted, and nobody writes another end
    run = studio.look(run_id)
    assert run.story[-3:] == ["a CANCELLED", "b CANCELLED", "run_cancelled"]
    assert [call.aborted for call in (*run.asked("a"), *run.asked("b"))] == [True, True]
    assert studio.log.cancel(run_id, "me") is RunStatus.CANCELLED
    assert len(run.events) == len(studio.look(run_id).events)


@given(deaths=st.lists(st.integers(min_value=0, max_value=8), max_size=6))
async def test_whenever_a_driver_dies_every_node_ends_once_and_the_result_is_the_same(deaths: list[int]) -> None:
    # given a run, each of whose answers takes a moment
    studio = Studio()
    graph = studio.draw(
        "in -> a -> c -> e -> out; in -> b -> c; b -> d -> e",
        c={"userPrompt": "{{a.text}}{{b.text}}"},
        e={"userPrompt": "{{c.text}}{{d.text}}"},
    )
    answers = {name: [{"text": name.upper(), "delayMs": 1000}] for name in "abcde"}
    run_id = studio.accept(graph, answers=answers)
    # when its drivers die after so many moments each
    for moments in deaths:
        task = studio.start(run_id)
        await settled()
        for _ in range(moments):
            await studio.clock.advance(0.5)
        await _kill(task)
        studio.log.hand_back(run_id)
    run = await _go_on(studio, run_id)
    # then the record is that of a run that nothing happened to
    assert run.result == "E"
    assert sorted(call.node_id for call in run.calls) == list("abcde")
    assert all(run.story.count(f"{name} SUCCESS") == 1 for name in "abcde")
    assert [event.seq for event in run.events] == list(range(1, len(run.events) + 1))
    assert run.prompts_of("e")[-1] == "CD"
