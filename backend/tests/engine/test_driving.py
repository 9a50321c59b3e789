"""Driving a run: whatever happens, it has one end, and the code says why."""

from __future__ import annotations

import asyncio
import json

import pytest

from flyback.domain.errors import StorageBusyError
from flyback.domain.graph import NodeId
from flyback.domain.run import Mode, RunStatus
from flyback.engine.drive import drive
from flyback.engine.limits import RunLimits
from flyback.engine.log import Commit, FencedError
from flyback.storage.memory_log import MemoryLog
from kit.clock import settled
from kit.golden import Golden
from kit.studio import Studio


class TroubledLog(MemoryLog):
    """A log whose storage makes trouble at some commits."""

    def __init__(self, studio: Studio, trouble: dict[int, Exception]) -> None:
        super().__init__(studio.clock)
        self._trouble = trouble
        self._commits = 0

    async def commit(self, commit: Commit) -> None:
        self._commits += 1
        if self._commits in self._trouble:
            raise self._trouble[self._commits]
        await super().commit(commit)


async def test_given_three_dag_nodes_the_events_are_exactly_these(studio: Studio, golden: Golden) -> None:
    graph = studio.draw(
        "A -> B -> out",
        A={"label": "Question", "variables": [{"name": "user_query", "required": True}]},
        B={"userPrompt": "{{user_query}}"},
        out={"template": "{{B.text}}"},
    )
    run = await studio.run(graph, inputs={"user_query": "Rain?"}, answers=["Yes."])
    lines = [f"{event.seq} {event.type.value} {json.dumps(event.data, ensure_ascii=False)}" for event in run.events]
    golden.check("events/three-dag-nodes.txt", "\n".join(lines))


async def test_given_a_busy_storage_a_step_waits_and_goes_on(studio: Studio) -> None:
    studio.log = TroubledLog(studio, {2: StorageBusyError("locked"), 3: StorageBusyError("locked")})
    run = await studio.run(studio.draw("in -> a -> out"), answers=["A"])
    assert run.result == "A"
    assert studio.clock.slept == [1, 1]
    assert len(run.asked("a")) == 1


async def test_given_a_fault_of_our_own_the_run_is_failed_and_the_log_tells(
    studio: Studio, caplog: pytest.LogCaptureFixture
) -> None:
    studio.log = TroubledLog(studio, {2: RuntimeError("a bug")})
    run = await studio.run(studio.draw("in -> a -> out"), answers=["A"])
    assert run.status is RunStatus.FAILED
    assert run.error.code == "INTERNAL"
    assert "a bug" in caplog.text


async def test_given_a_run_that_is_somebody_elses_nothing_more_is_written(studio: Studio) -> None:
    studio.log = TroubledLog(studio, {2: FencedError()})
    run = await studio.run(studio.draw("in -> a -> out"), answers=["A"])
    assert run.raw.end is None
    assert run.raw.step == 1


@pytest.mark.parametrize("mode", list(Mode))
async def test_given_too_many_events_the_run_ends_and_what_happened_is_kept(studio: Studio, mode: Mode) -> None:
    # given a limit that a few steps reach
    studio.limits = RunLimits(events=108)
    graph = studio.draw("in -> a -> b -> c -> out")
    # when a run goes beyond it
    run = await studio.run(graph, mode=mode, planner=["a", "b", "c", "out"], answers={"a": "A", "b": "B", "c": "C"})
    # then it has its end, and nothing is left open
    assert run.error.code == "EVENT_LIMIT"
    assert run.story[-1] == "workflow_error"
    assert "RUNNING" not in set(run.statuses.values())
    assert "RUNNING" not in {visit.status.value for visit in run.visits}


async def test_given_a_run_with_an_end_or_an_old_segment_there_is_nothing_to_drive(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out")
    run_id = studio.accept(graph, answers=["A"])
    studio.log.hand_back(run_id)
    await drive(studio.engine(), run_id, 0)
    assert studio.look(run_id).story == ["run_started"]
    await drive(studio.engine(), run_id, 1)
    count = len(studio.look(run_id).events)
    await drive(studio.engine(), run_id, 1)
    assert len(studio.look(run_id).events) == count


async def test_followers_get_every_event_once_as_it_comes(studio: Studio) -> None:
    # given somebody who follows a run from the start, and somebody who comes in later
    run_id = studio.accept(studio.draw("in -> a -> out"), answers=["A"])
    studio.hold("a")

    async def follow(after: int) -> list[int]:
        return [event.seq async for event in studio.log.follow(run_id, after=after)]

    task = studio.start(run_id)
    early, late = asyncio.create_task(follow(0)), asyncio.create_task(follow(3))
    await settled()
    # when it goes on to its end
    studio.let_go("a")
    await task
    # then both have all there is after their position
    total = len(studio.look(run_id).events)
    assert await early == list(range(1, total + 1))
    assert await late == list(range(4, total + 1))
    assert (await studio.log.end_of(run_id)).status is RunStatus.SUCCESS


async def test_a_commit_whose_reply_was_lost_is_recognised(studio: Studio) -> None:
    run_id = studio.accept(studio.draw("in -> out"))
    state = await studio.log.take_over(run_id, 0)
    assert state is not None
    commit = Commit(run_id, state.epoch, 1, state.usage, [])
    await studio.log.commit(commit)
    await studio.log.commit(commit)
    assert studio.log.run(run_id).step == 1
    await studio.log.take_over(run_id, 0)
    with pytest.raises(FencedError):
        await studio.log.commit(commit)
    assert NodeId("in") not in studio.log.run(run_id).nodes
