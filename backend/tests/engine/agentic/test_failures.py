"""Failures in AGENTIC mode: retries inside a visit, the planner taking over, written strategies, budgets."""

from __future__ import annotations

import pytest

from engine.agentic.drawings import Data, graph_of
from engine.agentic.stage import Stage, planner_prompts
from flyback.domain.events import EventType
from flyback.domain.graph import Graph
from flyback.domain.run import Budget, RunStatus, StepStatus

DRAWN = "A -> B; B -> C; C -> out; B -[error]-> rescue; rescue -> out"
REFUSED: Data = {"httpError": 401}
BROKEN: Data = {"httpError": 503}


def graph_with(strategy: str | None = None) -> Graph:
    more: dict[str, Data] = {"B": {"failStrategy": strategy} if strategy is not None else {}}
    return graph_of(DRAWN, data=more)


async def test_faults_that_can_pass_are_retried_inside_the_visit_and_count_against_no_visit() -> None:
    stage = Stage()
    run = await stage.run(graph_with(), planner=["B", "out"], answers={"A": "a", "B": [BROKEN, BROKEN, "b"]})
    assert run.path == ["A", "B", "out"]
    visit = run.visits[1]
    assert (visit.status, visit.visit.attempts, visit.data) == (StepStatus.SUCCESS, 3, {"text": "b"})
    assert stage.clock.slept == [0.5, 1.0]
    assert run.story[5:11] == [
        "B RUNNING",
        "node_retry",
        "node_retry",
        "B SUCCESS",
        "visit_recorded",
        "planner_decision",
    ]
    retry = run.events_of(EventType.NODE_RETRY)[0].data
    assert (retry["visitId"], retry["attempt"], retry["waitMs"]) == (visit.visit.visit_id, 1, 500)


async def test_after_the_retries_the_planner_takes_over_with_the_failure_in_view() -> None:
    run = await Stage().run(graph_with(), planner=["B", "A", "out"], answers={"A": ["a", "a2"], "B": [BROKEN] * 4})
    assert run.path == ["A", "B", "A", "out"]
    failed = run.visits[1]
    assert (failed.status, failed.visit.attempts, failed.data) == (StepStatus.FAILED, 4, {})
    prompt = planner_prompts(run)[1]
    assert "## It FAILED" in prompt
    assert "MODEL_UNAVAILABLE" in prompt
    assert "(no output)" in prompt
    assert run.status is RunStatus.SUCCESS


async def test_a_visit_that_failed_writes_nothing_and_what_follows_it_is_no_drawn_step() -> None:
    run = await Stage().run(graph_with(), planner=["B", "C", "out"], answers={"A": "a", "B": REFUSED, "C": "c"})
    assert run.path == ["A", "B", "C", "out"]
    assert dict(run.visits[1].workspace.variables) == {"A__text": "a"}
    assert (run.visits[2].visit.on_canvas, run.visits[2].is_fly_back) == (False, True)


async def test_a_revisit_begins_with_its_full_retries() -> None:
    run = await Stage().run(
        graph_with(), planner=["B", "B", "out"], answers={"A": "a", "B": [BROKEN, BROKEN, BROKEN, BROKEN, BROKEN, "b"]}
    )
    assert [(visit.status, visit.visit.attempts) for visit in run.visits_of("B")] == [
        (StepStatus.FAILED, 4),
        (StepStatus.SUCCESS, 2),
    ]


async def test_a_written_abort_ends_the_run_and_names_the_node_and_the_path() -> None:
    stage = Stage()
    run = await stage.run(graph_with("abort"), planner=["B"], answers={"A": "a", "B": REFUSED})
    assert run.status is RunStatus.FAILED
    assert (run.error.code, run.error.node) == ("NODE_FAILED", "B")
    assert "'B'" in run.error.message
    assert "MODEL_REFUSED" in run.error.message
    assert run.end.path == ["A", "B"]
    # its outcome, its snapshot and the end are one commit
    assert run.story[-3:] == ["B FAILED", "visit_recorded", "workflow_error"]
    assert len(stage.commits[-1].events) == 3
    assert run.visits[1].visit.visit_id in stage.snapshots
    assert run.events[-1].data["path"] == ["A", "B"]
    assert len(planner_prompts(run)) == 1


async def test_under_skip_the_default_output_is_written_and_the_planner_is_asked() -> None:
    graph = graph_of(DRAWN, data={"B": {"failStrategy": "skip", "defaultOutput": {"text": "nothing"}}})
    run = await Stage().run(graph, planner=["B", "C", "out"], answers={"A": "a", "B": REFUSED, "C": "c"})
    visit = run.visits[1]
    assert (visit.status, visit.data) == (StepStatus.FAILED, {"text": "nothing"})
    assert visit.workspace.variables["B__text"] == "nothing"
    # `skip` activates `output`: going on as drawn is a drawn step
    assert run.visits[2].visit.on_canvas


async def test_under_branch_the_error_edge_is_the_hint_and_the_fallback() -> None:
    run = await Stage().run(graph_with("branch"), planner=["B"], answers={"A": "a", "B": REFUSED, "rescue": "r"})
    assert run.path == ["A", "B", "rescue", "out"]
    assert 'Its error edge leads to "rescue".' in planner_prompts(run)[1]
    error = run.visits[1].workspace.variables["B__error"]
    assert isinstance(error, dict)
    assert error["code"] == "MODEL_REFUSED"
    assert run.visits[1].status is StepStatus.FAILED
    assert run.visits[2].visit.on_canvas


async def test_branch_without_an_error_edge_is_abort() -> None:
    graph = graph_of("A -> B; B -> out", data={"B": {"failStrategy": "branch"}})
    run = await Stage().run(graph, planner=["B"], answers={"A": "a", "B": REFUSED})
    assert (run.error.code, run.path) == ("NODE_FAILED", ["A", "B"])


async def test_after_a_failure_without_strategy_the_fallback_follows_the_first_output_edge() -> None:
    run = await Stage().run(graph_with(), planner=["B"], answers={"A": "a", "B": REFUSED, "C": "c"})
    assert run.path == ["A", "B", "C", "out"]
    decision = run.visits[1].decision
    assert decision is not None
    assert (decision.source, decision.on_canvas) == ("fallback", False)


async def test_three_failures_of_one_node_in_a_row_are_hinted_at_once() -> None:
    run = await Stage().run(graph_with(), planner=["B"] * 4 + ["out"], answers={"A": "a", "B": [REFUSED] * 4})
    assert ["left the workspace as it was" in prompt for prompt in planner_prompts(run)] == [
        False,
        False,
        False,
        True,
        False,
    ]


# Budgets.


async def test_a_budget_that_a_visit_used_up_ends_the_run_with_that_visit_and_the_partial_result() -> None:
    stage = Stage()
    run = await stage.run(CHEAP, planner=["B", "out"], answers={"A": "a", "B": "b " * 2000}, budget=Budget(tokens=1300))
    assert run.path == ["A", "B"]
    assert run.error.code == "BUDGET_EXCEEDED"
    assert run.end.partial == "b " * 2000
    assert run.end.path == ["A", "B"]
    assert run.story[-3:] == ["B SUCCESS", "visit_recorded", "workflow_error"]
    assert len(stage.commits[-1].events) == 3
    assert stage.snapshots[run.visits[1].visit.visit_id].variables["B__text"] == "b " * 2000
    assert run.events[-1].data["partial"] == "b " * 2000


CHEAP = graph_of("A -> B; B -> out")


async def test_a_budget_that_the_planner_used_up_ends_the_run_at_the_next_call_and_closes_the_visit() -> None:
    stage = Stage()
    run = await stage.run(
        CHEAP, planner=[{"next": "B", "reason": "r" * 4000}], answers={"A": "a", "B": "b"}, budget=Budget(tokens=700)
    )
    assert run.path == ["A", "B"]
    assert run.error.code == "BUDGET_EXCEEDED"
    assert run.error.node == "B"
    assert run.visits[1].status is StepStatus.CANCELLED
    assert run.end.partial == "a"
    assert run.story[-4:] == ["B RUNNING", "B CANCELLED", "visit_recorded", "workflow_error"]
    assert stage.snapshots[run.visits[1].visit.visit_id].variables == {"A__text": "a"}


async def test_a_budget_that_is_used_up_between_the_planners_tries_ends_the_run_after_the_stored_visit() -> None:
    stage = Stage()
    run = await stage.run(
        CHEAP, planner=[{"text": "x" * 4000}, "B"], answers={"A": "a", "B": "b"}, budget=Budget(tokens=700)
    )
    assert run.path == ["A"]
    assert run.error.code == "BUDGET_EXCEEDED"
    assert run.story[-3:] == ["A SUCCESS", "visit_recorded", "workflow_error"]
    assert run.visits[0].decision is None
    assert stage.snapshots[run.visits[0].visit.visit_id].variables == {"A__text": "a"}
    # the try that was paid for is on record
    assert [call.role for call in run.calls] == ["node", "planner"]
    assert run.raw.usage.planner.calls == 1


async def test_time_counts_and_the_output_that_ends_the_run_is_no_excess() -> None:
    slow: Data = {"text": "a", "delayMs": 9000}
    run = await Stage().run(CHEAP, planner=["B", "out"], answers={"A": slow, "B": "b"}, budget=Budget(seconds=5.0))
    assert (run.error.code, run.path) == ("BUDGET_EXCEEDED", ["A"])
    graph = graph_of("A -> out", nodes={"A": "template"}, data={"A": {"template": "x"}})
    run = await Stage().run(graph, planner=[{"next": "out", "delayMs": 9000}], budget=Budget(seconds=5.0))
    assert run.status is RunStatus.SUCCESS


async def test_the_planner_is_told_what_is_left() -> None:
    run = await Stage().run(CHEAP, planner=["out"], answers={"A": "a"}, budget=Budget(tokens=5000, seconds=60.0))
    assert "budget: 49" in planner_prompts(run)[0]
    assert "60 seconds" in planner_prompts(run)[0]
    assert "visits: 49" in planner_prompts(run)[0]


@pytest.mark.parametrize("tokens", [1, 10, 100, 400, 700, 1000])
async def test_wherever_the_budget_ends_the_run_has_one_end_and_no_open_visit(tokens: int) -> None:
    stage = Stage()
    run = await stage.run(
        CHEAP, planner=["B", "B", "B", "out"], answers={"A": "a", "B": "b"}, budget=Budget(tokens=tokens)
    )
    assert run.status.ended
    assert all(visit.status not in (StepStatus.RUNNING, StepStatus.PAUSED) for visit in run.visits)
    assert all(visit.visit.visit_id in stage.snapshots for visit in run.visits)
    assert sum(event.type in (EventType.WORKFLOW_COMPLETE, EventType.WORKFLOW_ERROR) for event in run.events) == 1


async def test_a_run_that_has_nowhere_to_start_fails_and_says_what_is_missing() -> None:
    run = await Stage().run(graph_of("A -> B; B -> A; B -> out"), planner=[])
    assert (run.error.code, run.path, run.story) == ("GRAPH_INVALID", [], ["run_started", "workflow_error"])
