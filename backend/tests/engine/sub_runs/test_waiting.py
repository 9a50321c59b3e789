"""Runs inside a run that wait for people: all around them rest, and go on with the answer."""

from __future__ import annotations

from flyback.domain.answering import Given
from flyback.domain.pause import PauseStatus
from flyback.domain.run import RunStatus
from kit.clock import settled
from kit.drawing import Data, when
from kit.inner_runs import (
    FORM,
    INNER_MODES,
    MODES,
    WORD,
    answer,
    asking,
    call,
    each,
    file,
    inner_runs,
    outer,
    told,
)
from kit.studio import Studio
from kit.toolbox import Toolbox


@MODES
@INNER_MODES
async def test_a_question_in_an_inner_run_pauses_both_and_its_answer_lets_both_go_on(
    studio: Studio, agentic: bool, inner_agentic: bool
) -> None:
    run = await outer(studio, call(asking(agentic=inner_agentic)), agentic=agentic)
    (inner,) = inner_runs(studio, run)
    assert (run.status, inner.status) == (RunStatus.PAUSED, RunStatus.PAUSED)
    assert run.story[-2:] == ["inner PAUSED", "run_paused"]
    assert "clarify_request" not in run.story
    # when a person answers the inner run
    answer(studio, inner, "yes")
    run = await studio.go_on(run.raw.run_id)
    # then both have their ends, and nothing was started twice
    assert run.result == "tides yes"
    assert len(inner_runs(studio, run)) == 1
    assert told(run) == [(0, "RUNNING"), (0, "PAUSED"), (0, "PENDING"), (0, "SUCCESS")]


@MODES
async def test_each_item_asks_on_its_own_before_a_tool_that_is_marked(studio: Studio, agentic: bool) -> None:
    studio.tools = tools = Toolbox(asks={"write"})
    use: Data = {"type": "tool", "server": "files", "tool": "write", "arguments": {"path": "{{item}}"}}
    writes = file("ask -> use -> out", ask={"variables": [{"name": "item"}]}, use=use, out={"template": "{{use.text}}"})
    way: Data = each(writes, ["/a", "/b"], onItemError="continue")
    run = await outer(studio, way, agentic=agentic, template="{{inner.results}}")
    assert (run.status, tools.called) == (RunStatus.PAUSED, [])
    # when one is approved and the other denied
    for place, said in ((1, "approve"), (0, "deny")):
        inner = inner_runs(studio, run)[place]
        studio.log.answer(studio.open_pause(inner.raw.run_id).pause_id, Given(action=said), by="somebody")
        run = await studio.go_on(run.raw.run_id)
    # then only the one that was approved has run
    assert (run.result, tools.used) == ('[null,"done"]', [("write", {"path": "/b"})])


@MODES
async def test_items_wait_one_by_one_for_their_answers(studio: Studio, agentic: bool) -> None:
    run = await outer(
        studio, each(asking(), ["a", "b", "c"], parallel=2), agentic=agentic, template="{{inner.results}}"
    )
    assert [inner.status for inner in inner_runs(studio, run)] == [RunStatus.PAUSED, RunStatus.PAUSED]
    for place in (1, 0, 2):
        inner = inner_runs(studio, run)[place]
        answer(studio, inner, f"yes {place}")
        run = await studio.go_on(run.raw.run_id)
    assert run.result == '["a yes 0","b yes 1","c yes 2"]'
    assert len(inner_runs(studio, run)) == 3
    assert all(pause.status is not PauseStatus.OPEN for one in studio.log.runs for pause in one.pauses.values())


async def test_an_answer_is_heard_while_other_items_work(studio: Studio) -> None:
    # given one item that asks and one that works
    inner = file(
        "ask -> check; check -[branch-0]-> form; check -[branch-1]-> slow; form -> out; slow -> end",
        ask={"variables": [{"name": "item"}]},
        check=when("item", "a"),
        form=FORM,
        slow={},
        answers={"slow": ["done"]},
        out={"template": "{{form.said}}"},
        end={"template": "{{slow.text}}"},
    )
    studio.hold("slow")
    graph = studio.draw(
        "ask -> inner -> answer", ask={}, inner=each(inner, ["a", "b"]), answer={"template": "{{inner.results}}"}
    )
    run_id = studio.accept(graph)
    task = studio.start(run_id)
    await settled()
    first = inner_runs(studio, studio.look(run_id))[0]
    assert (first.status, studio.look(run_id).status) == (RunStatus.PAUSED, RunStatus.RUNNING)
    # when it is answered, it goes on at once
    answer(studio, first, "yes")
    await settled()
    assert inner_runs(studio, studio.look(run_id))[0].status is RunStatus.SUCCESS
    studio.let_go("slow")
    await studio.clock.run_through(task)
    assert studio.look(run_id).result == '["yes","done"]'


async def test_a_question_two_levels_down_pauses_all_and_is_heard_by_all(studio: Studio) -> None:
    middle = file("ask -> inner -> out", name="middle", ask=WORD, inner=call(asking(), inputs={"word": "{{word}}"}))
    run = await outer(studio, call(middle))
    assert [one.status for one in studio.log.runs] == [RunStatus.PAUSED] * 3
    answer(studio, studio.look(studio.log.runs[-1].run_id), "yes")
    run = await studio.go_on(run.raw.run_id)
    assert run.result == "tides yes"
    assert [one.status for one in studio.log.runs] == [RunStatus.SUCCESS] * 3


async def test_beside_a_node_that_waits_for_its_run_others_work(studio: Studio) -> None:
    graph = studio.draw(
        "ask -> inner; ask -> slow; inner -> answer; slow -> answer",
        ask={"variables": [{"name": "topic"}]},
        inner=call(asking()),
        answer={"template": "{{inner.result}} {{slow.text}}"},
    )
    studio.hold("slow")
    run_id = studio.accept(graph, inputs={"topic": "tides"}, answers={"slow": "done"})
    task = studio.start(run_id)
    await settled()
    run = studio.look(run_id)
    assert (run.status, run.statuses["inner"]) == (RunStatus.RUNNING, "PAUSED")
    (inner,) = inner_runs(studio, run)
    answer(studio, inner, "yes")
    await settled()
    assert studio.look(run_id).statuses["inner"] == "SUCCESS"
    studio.let_go("slow")
    await studio.clock.run_through(task)
    assert studio.look(run_id).result == "tides yes done"
