"""What runs inside a run use counts in the run around them, and in its budget."""

from __future__ import annotations

from typing import cast

from pydantic import JsonValue

from flyback.domain.run import Budget, RunStatus
from kit.inner_runs import (
    MODES,
    WORD,
    call,
    each,
    file,
    inner_runs,
    outer,
)
from kit.studio import Studio


@MODES
async def test_what_inner_runs_use_counts_in_the_outer_run(studio: Studio, agentic: bool) -> None:
    inner = file("ask -> one -> two -> out", ask={}, answers=["first", "second"])
    run = await outer(studio, each(inner, [1, 2, 3]), agentic=agentic, template="done")
    used = [one.raw.usage.total for one in inner_runs(studio, run)]
    assert [usage.calls for usage in used] == [2, 2, 2]
    planner_calls = 2 if agentic else 0
    assert run.raw.usage.total.calls == 6 + planner_calls
    assert run.raw.usage.sub_runs.tokens == sum(usage.tokens for usage in used)
    at_node = run.raw.visits[1].usage if agentic else run.node("inner").usage
    assert at_node.calls == 6


@MODES
async def test_a_budget_that_inner_runs_use_up_ends_them_and_the_outer_run(studio: Studio, agentic: bool) -> None:
    inner = file("ask -> one -> two -> out", ask={}, answers=["first", "second"])
    graph = studio.draw(
        "ask -> inner -> answer", ask={}, inner=each(inner, [1, 2, 3], parallel=1, onItemError="continue")
    )
    run = await studio.run(graph, planner=["inner", "answer"] if agentic else None, budget=Budget(tokens=12))
    assert (run.status, run.error.code) == (RunStatus.FAILED, "BUDGET_EXCEEDED")
    assert inner_runs(studio, run)[-1].error.code == "BUDGET_EXCEEDED"
    assert len(inner_runs(studio, run)) < 3


async def test_an_inner_workflow_with_a_budget_of_its_own_fails_alone(studio: Studio) -> None:
    inner = file("ask -> one -> two -> out", ask=WORD, answers=["first", "second"]) | {
        "budget": cast("JsonValue", {"tokens": 1})
    }
    run = await outer(studio, call(inner, failStrategy="skip", defaultOutput={"result": "instead"}))
    assert run.result == "instead"
    assert inner_runs(studio, run)[0].error.code == "BUDGET_EXCEEDED"
