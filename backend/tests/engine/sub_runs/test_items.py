"""The iteration node: a run for each item, results in the order of the items, and what a failed one does to the others."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.run import RunStatus
from kit.clock import settled
from kit.drawing import when
from kit.inner_runs import (
    INNER_MODES,
    MODES,
    each,
    file,
    inner_runs,
    loud,
    node_error,
    outer,
    picky,
    told,
)
from kit.studio import Studio


@MODES
@INNER_MODES
async def test_an_iteration_gives_results_in_the_order_of_the_items(
    studio: Studio, agentic: bool, inner_agentic: bool
) -> None:
    inner = each(
        loud(agentic=inner_agentic), ["a", "b", "c", "d", "e"], parallel=2, inputs={"word": "{{index}}{{item}}"}
    )
    run = await outer(studio, inner, agentic=agentic, template="{{inner.results}}")
    assert run.result == '["0a 0a!","1b 1b!","2c 2c!","3d 3d!","4e 4e!"]'
    assert [inner.raw.inside.index for inner in inner_runs(studio, run) if inner.raw.inside] == [0, 1, 2, 3, 4]
    assert len(told(run)) == 10


async def test_items_come_late_and_their_results_stand_in_order_all_the_same(studio: Studio) -> None:
    inner = file(
        "ask -> wait -> out",
        ask={"variables": [{"name": "item"}]},
        wait={"userPrompt": "{{item}}"},
        answers={"wait": [{"text": "x", "delayMs": 10}]},
        out={"template": "{{item}}"},
    )
    run = await outer(studio, each(inner, [3, 1, 2], parallel=3), template="{{inner.results}}")
    assert run.result == '["3","1","2"]'


async def test_no_more_items_are_open_at_once_than_the_node_says(studio: Studio) -> None:
    inner = file("ask -> slow -> out", ask={}, slow={}, answers={"slow": ["x"]})
    studio.hold("slow")
    graph = studio.draw("ask -> inner -> answer", ask={}, inner=each(inner, list(range(5)), parallel=2))
    task = studio.start(studio.accept(graph))
    await settled()
    assert len(studio.log.runs) == 3
    studio.let_go("slow")
    await studio.clock.run_through(task)
    assert len(studio.log.runs) == 6


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("{{topic}}", "got the text 'tides'"),
        ("{{nothing?}}", "got an empty text"),
        ("5", "got the text '5'"),
        ("{{ask}}", "got the text '{{ask}}'"),
        ("{{an_object}}", "got an object with the keys 'a'"),
        ([0] * 1001, "got 1,001 items; at most 1,000"),
    ],
)
async def test_what_is_no_list_is_refused_and_said(studio: Studio, items: JsonValue, said: str) -> None:
    run = await outer(studio, each(loud(), items), template="{{inner.results}}")
    code, message = node_error(run)
    assert code == "ITEMS_INVALID"
    assert said in message
    assert len(studio.log.runs) == 1


@pytest.mark.parametrize("text", ['["a"]', ' ["a"]\n', 'Here you are:\n```json\n["a"]\n```'])
async def test_a_text_that_holds_a_list_is_one_also_as_models_write_it(studio: Studio, text: str) -> None:
    run = await outer(studio, each(loud(), text, inputs={"word": "{{item}}"}), template="{{inner.results}}")
    assert run.result == '["a a!"]'


async def test_an_empty_list_is_no_fault(studio: Studio) -> None:
    run = await outer(studio, each(loud(), []), template="{{inner.results}} {{inner.errors}}")
    assert run.result == "[] []"


async def test_an_item_that_fails_leaves_the_others_alone_where_the_node_says_so(studio: Studio) -> None:
    inner = each(picky(), ["a", "b", "a"], onItemError="continue", parallel=1)
    run = await outer(studio, inner, template="{{inner.results}}")
    assert run.result == '["fine a",null,"fine a"]'
    (error,) = cast("list[dict[str, JsonValue]]", run.output("inner")["errors"])
    assert (error["index"], error["code"]) == (1, "NODE_FAILED")
    assert error["runId"] == inner_runs(studio, run)[1].raw.run_id


async def test_an_item_that_fails_stops_the_others_else(studio: Studio) -> None:
    run = await outer(studio, each(picky(), ["a", "b", "a"], parallel=1))
    assert node_error(run)[0] == "SUB_RUN_FAILED"
    assert "item 2 of 3 failed" in node_error(run)[1]
    assert [inner.status for inner in inner_runs(studio, run)] == [RunStatus.SUCCESS, RunStatus.FAILED]


async def test_items_at_work_are_cancelled_when_one_fails(studio: Studio) -> None:
    slow = file(
        "ask -> check; check -[branch-0]-> slow; check -[branch-1]-> bad; bad -> out; slow -> end",
        ask={"variables": [{"name": "item"}]},
        check=when("item", "a"),
        bad={"type": "code", "source": "no"},
        slow={},
        answers={"slow": [{"hang": True}]},
    )
    run = await outer(studio, each(slow, ["a", "b"], parallel=2))
    assert [inner.status for inner in inner_runs(studio, run)] == [RunStatus.CANCELLED, RunStatus.FAILED]
    assert run.status is RunStatus.FAILED


@MODES
@INNER_MODES
async def test_a_driver_that_takes_over_runs_no_item_again(studio: Studio, agentic: bool, inner_agentic: bool) -> None:
    # given an iteration whose third item hangs
    inner = file(
        "ask -> work -> out",
        planner=["work", "out"] if inner_agentic else None,
        ask={"variables": [{"name": "item"}]},
        work={"userPrompt": "{{item}}"},
        answers={"work": ["x"]},
        out={"template": "{{item}}"},
    )
    graph = studio.draw(
        "ask -> inner -> answer",
        ask={},
        inner=each(inner, [1, 2, 3, 4], parallel=1),
        answer={"template": "{{inner.results}}"},
    )
    run_id = studio.accept(graph, planner=["inner", "answer"] if agentic else None)
    first = studio.start(run_id)
    for _ in range(200):
        await settled()
        if len(studio.log.runs) == 4 and "work" in studio.asked and len(studio.log.runs[3].events) > 2:
            break
        if len(studio.log.runs) == 3:
            studio.hold("work")
    # when its driver dies there, and another one takes over
    first.cancel()
    await settled()
    studio.let_go("work")
    studio.log.hand_back(run_id)
    run = await studio.go_on(run_id)
    # then the items that were done are not done again
    assert run.result == '["1","2","3","4"]'
    assert [one.raw.epoch for one in inner_runs(studio, run)].count(1) >= 3
    assert len(inner_runs(studio, run)) == 4


@given(
    st.lists(st.booleans(), max_size=6),
    st.integers(1, 3),
    st.sampled_from(["fail", "continue"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=30)
async def test_any_items_give_one_result_each_in_order_or_the_first_failure(
    good: list[bool], parallel: int, on_error: str, agentic: bool
) -> None:
    studio = Studio()
    inner = each(picky(), ["a" if one else "b" for one in good], parallel=parallel, onItemError=on_error)
    run = await outer(studio, {**inner, "failStrategy": "abort"}, agentic=agentic, template="{{inner.results}}")
    inner_of = inner_runs(studio, run)
    assert all(one.status.ended for one in studio.log.runs)
    if on_error == "fail" and not all(good):
        assert run.status is RunStatus.FAILED
        return
    results = cast("list[JsonValue]", (run.visits_of("inner")[0].data if agentic else run.output("inner"))["results"])
    assert results == ["fine a" if one else None for one in good]
    assert [one.raw.inside.index for one in inner_of if one.raw.inside] == list(range(len(good)))
    assert run.raw.usage.sub_runs.calls == sum(one.raw.usage.total.calls for one in inner_of)
