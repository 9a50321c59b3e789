"""Going on after a death: at the first step that was not committed, wherever that is."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agentic.drawings import graph_of
from engine.agentic.stage import Stage, WatchedLog, planner_prompts
from flyback.domain.events import EventType
from flyback.domain.run import RunId, RunStatus, StepStatus
from flyback.domain.workspace import Workspace
from flyback.engine.log import Commit
from kit.clock import HandClock
from kit.studio import Data, SeenRun

GRAPH = graph_of("A -> B; B -> C; C -> out", data={"out": {"template": "{{B.text}}"}})
PLANNER = ["B", "C", "A", "B", "out"]
ANSWERS = {"A": ["a1", "a2"], "B": ["b1", "b2"], "C": ["c1"]}


class MortalLog(WatchedLog):
    """A ledger whose process dies at one step: before that commit is stored, or just after."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock)
        self.dies_at: int | None = None
        self.stores_it = False

    async def commit(self, commit: Commit) -> None:
        if commit.step != self.dies_at:
            await super().commit(commit)
            return
        self.dies_at = None
        if self.stores_it:
            await super().commit(commit)
        raise asyncio.CancelledError


async def live_twice(step: int, *, stored: bool) -> tuple[Stage, SeenRun]:
    """Let the process die at a step, and let another one go on."""
    stage = Stage()
    log = MortalLog(stage.clock)
    stage.watched = stage.log = log
    run_id = stage.accept(GRAPH, inputs={"q": "x"}, planner=PLANNER, answers=ANSWERS)
    log.dies_at, log.stores_it = step, stored
    with pytest.raises(asyncio.CancelledError):
        await stage.clock.run_through(stage.start(run_id))
    await stage.clock.run_through(stage.start(run_id))
    return stage, stage.look(run_id)


STEPS = 12
"""Of this run: the first visit, then two a visit, the last one a single commit."""


@pytest.mark.parametrize("stored", [False, True], ids=["before it is stored", "after it is stored"])
@pytest.mark.parametrize("step", range(1, STEPS))
async def test_a_run_goes_on_at_the_first_step_that_was_not_committed(step: int, stored: bool) -> None:
    stage, run = await live_twice(step, stored=stored)
    # then the chain is as if nothing had happened
    assert run.path == ["A", "B", "C", "A", "B", "out"]
    assert [visit.iter_seq for visit in run.visits] == [1, 1, 1, 2, 2, 1]
    assert [visit.visit.sort_order for visit in run.visits] == list(range(6))
    assert [visit.visit.attempts for visit in run.visits] == [1] * 6
    assert run.visits[4].workspace.variables == {"q": "x", "A__text": "a2", "C__text": "c1", "B__text": "b2"}
    assert run.result == "b2"
    assert run.status is RunStatus.SUCCESS
    # and no visit and no decision is on record twice
    assert len(run.events_of(EventType.VISIT_RECORDED)) == 6
    assert len(run.events_of(EventType.PLANNER_DECISION)) == 5
    assert [event.seq for event in run.events] == list(range(1, len(run.events) + 1))
    recovered = [event.node for event in run.events if event.data.get("recovered")]
    assert len(recovered) <= 1
    assert len(run.calls) == 10
    assert set(stage.snapshots) == {visit.visit.visit_id for visit in run.visits}


async def test_a_visit_that_was_interrupted_begins_again_and_is_marked_recovered() -> None:
    # given a death after B's visit has begun: step 3 is its first visit's beginning
    _, run = await live_twice(4, stored=False)
    # then its second start is no retry
    running = [event for event in run.events if event.short == "B RUNNING"]
    assert [(event.data.get("recovered", False), event.data["attempt"]) for event in running][:2] == [
        (False, 1),
        (True, 1),
    ]
    assert running[0].data["visitId"] == running[1].data["visitId"]
    # and its call is repeated under the same key
    keys = [call.key for call in run.asked("B")]
    assert keys[0] == keys[1]


async def test_a_committed_visit_is_not_executed_again_when_the_planner_was_interrupted() -> None:
    _, run = await live_twice(3, stored=False)
    assert len(run.asked("A")) == 2
    assert len({call.key for call in run.asked("A")}) == 2
    # the decision after A#1 is asked twice, under the same key
    first = run.visits[0].visit.visit_id
    asked = [call for call in run.asked("A", role="planner") if call.visit_id == first]
    assert len(asked) == 2
    assert asked[0].key == asked[1].key
    assert not [event for event in run.events if event.data.get("recovered")]


async def test_attempts_that_failed_before_a_death_are_kept_and_none_is_added() -> None:
    broken: Data = {"httpError": 503}
    stage = Stage()
    log = MortalLog(stage.clock)
    stage.watched = stage.log = log
    run_id = stage.accept(GRAPH, planner=["out"], answers={"A": [broken, broken, "a"]})
    log.dies_at = 3  # the second failed attempt
    with pytest.raises(asyncio.CancelledError):
        await stage.clock.run_through(stage.start(run_id))
    await stage.clock.run_through(stage.start(run_id))
    run = stage.look(run_id)
    assert (run.visits[0].status, run.visits[0].visit.attempts) == (StepStatus.SUCCESS, 3)
    assert run.story[:7] == [
        "run_started",
        "A RUNNING",
        "node_retry",
        "A RUNNING",
        "node_retry",
        "A SUCCESS",
        "visit_recorded",
    ]
    assert [event.data["attempt"] for event in run.events if event.short == "A RUNNING"] == [1, 2]


async def test_the_limits_hold_for_a_run_that_goes_on() -> None:
    # given a run that is interrupted after its last visit but one was stored
    stage = Stage()
    log = MortalLog(stage.clock)
    stage.watched = stage.log = log
    run_id = stage.accept(GRAPH, planner=["B"] * 9, answers={"A": "a", "B": ["b"] * 9}, max_visits=5)
    log.dies_at = 9
    with pytest.raises(asyncio.CancelledError):
        await stage.clock.run_through(stage.start(run_id))
    await stage.clock.run_through(stage.start(run_id))
    run = stage.look(run_id)
    assert (len(run.visits), run.error.code) == (5, "MAX_VISITS_EXCEEDED")
    assert len(planner_prompts(run)) == 5


async def test_a_step_whose_reply_was_lost_is_recognised_and_is_no_error() -> None:
    class DeafLog(WatchedLog):
        """Stores each step, and forgets to say so the first time."""

        async def commit(self, commit: Commit) -> None:
            await super().commit(commit)
            await super().commit(commit)

    stage = Stage()
    stage.watched = stage.log = DeafLog(stage.clock)
    run = await stage.run(GRAPH, planner=PLANNER, answers=ANSWERS)
    assert run.path == ["A", "B", "C", "A", "B", "out"]
    assert len(run.events_of(EventType.VISIT_RECORDED)) == 6


async def test_a_driver_that_is_cancelled_stops_the_call_in_flight_and_writes_nothing() -> None:
    stage = Stage()
    stage.hold("B")
    run_id = stage.accept(GRAPH, planner=PLANNER, answers=ANSWERS)
    task = stage.start(run_id)
    await stage.settle()
    before = stage.look(run_id).story
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    (call,) = stage.look(run_id).asked("B")
    assert (call.ended, call.aborted) == (True, True)
    assert stage.look(run_id).story == before


# The chain, whatever happens in it.

_nodes = st.sampled_from(["A", "B", "C"])
_replies = st.sampled_from(["x", "y", "", "long " * 50]) | st.sampled_from([401, 503]).map(
    lambda code: {"httpError": code}
)


@given(
    st.lists(_nodes, max_size=8),
    st.fixed_dictionaries({node: st.lists(_replies, max_size=6) for node in "ABC"}),
    st.integers(1, 20),
    st.booleans(),
)
def test_the_stored_workspace_of_a_visit_is_the_one_before_it_plus_its_output(
    planner: list[str], answers: dict[str, list[str | Data]], step: int, stored: bool
) -> None:
    async def play() -> tuple[Stage, SeenRun]:
        stage = Stage()
        log = MortalLog(stage.clock)
        stage.watched = stage.log = log
        run_id = stage.accept(GRAPH, inputs={"q": "x"}, planner=[*planner, "out"], answers=answers, max_visits=10)
        log.dies_at, log.stores_it = step, stored
        await _through(stage, run_id)
        await _through(stage, run_id)
        return stage, stage.look(run_id)

    stage, run = asyncio.run(play())
    assert run.status.ended
    before = Workspace.of_inputs({"q": "x"})
    for visit in run.visits:
        assert visit.status in (StepStatus.SUCCESS, StepStatus.FAILED)
        envelope = visit.visit.envelope
        after = before if envelope is None else before.after(envelope, writer=visit.visit.sort_order)
        stored_workspace = stage.snapshots[visit.visit.visit_id]
        assert stored_workspace == after
        assert list(stored_workspace.variables) == list(after.variables)
        assert visit.visit.writers == after.writers
        before = after
    for visit, following in zip(run.visits, run.visits[1:], strict=False):
        assert visit.decision is not None
        assert visit.decision.next == following.node_id
        assert (following.from_node_id, following.visit.from_visit_id) == (visit.node_id, visit.visit.visit_id)
        assert following.visit.on_canvas == visit.decision.on_canvas
        assert following.visit.on_canvas == GRAPH.is_drawn(
            visit.visit.node_id, following.visit.node_id, visit.visit.handle
        )
    assert [event.seq for event in run.events] == list(range(1, len(run.events) + 1))


async def _through(stage: Stage, run_id: RunId) -> None:
    try:
        await stage.clock.run_through(stage.start(run_id))
    except asyncio.CancelledError:
        return
