"""Runs inside a run: `workflow` and `iteration`, in both modes on both sides, as they go on, wait, fail and end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.answering import Given
from flyback.domain.events import EventType
from flyback.domain.graph_file import read_document
from flyback.domain.pause import PauseStatus
from flyback.domain.run import Budget, RunStatus, StepStatus, WorkflowId
from flyback.engine.ports import FoundWorkflow
from kit.clock import settled
from kit.drawing import Data, draw
from kit.studio import Answers, Reply, SeenRun, Studio, script_of
from kit.toolbox import Toolbox

MODES = pytest.mark.parametrize("agentic", [False, True], ids=["DAG", "AGENTIC"])
INNER_MODES = pytest.mark.parametrize("inner_agentic", [False, True], ids=["inner DAG", "inner AGENTIC"])

WORD: Data = {"variables": [{"name": "word", "required": True}]}
FORM: Data = {"type": "humanInput", "form": [{"name": "said"}]}


def file(
    chains: str, *, name: str = "inner", planner: Sequence[Reply] | None = None, answers: Answers = (), **nodes: Data
) -> dict[str, JsonValue]:
    """A graph file; with a planner it is AGENTIC."""
    graph = draw(chains, **nodes)
    return {
        "name": name,
        "mode": "DAG" if planner is None else "AGENTIC",
        "graphData": cast("JsonValue", dict(graph.document)),
        "script": script_of(graph, planner, answers),
    }


def loud(*, agentic: bool = False) -> dict[str, JsonValue]:
    """Says a word twice."""
    return file(
        "ask -> twice -> out",
        planner=["twice", "out"] if agentic else None,
        ask=WORD,
        twice={"type": "template", "template": "{{word}} {{word}}"},
        out={"template": "{{twice.text}}!"},
    )


def asking(*, agentic: bool = False) -> dict[str, JsonValue]:
    """Asks a person about a word."""
    return file(
        "ask -> form -> out",
        planner=["form", "out"] if agentic else None,
        ask={"variables": [{"name": "word"}, {"name": "item"}, {"name": "index"}]},
        form=FORM,
        out={"template": "{{item?}}{{word?}} {{form.said}}"},
    )


def call(workflow: Mapping[str, JsonValue] | str, **more: JsonValue) -> Data:
    named: dict[str, JsonValue] = (
        {"workflowId": workflow} if isinstance(workflow, str) else {"workflow": dict(workflow)}
    )
    return {"type": "workflow", **named, "inputs": {"word": "{{topic}}"}, **more}


def each(workflow: Mapping[str, JsonValue], items: JsonValue, **more: JsonValue) -> Data:
    return {"type": "iteration", "workflow": dict(workflow), "items": items, **more}


def shelve(studio: Studio, workflow_id: str, workflow: Mapping[str, JsonValue]) -> None:
    studio.shelf.workflows[workflow_id] = FoundWorkflow(read_document(dict(workflow)), WorkflowId(workflow_id))


async def outer(studio: Studio, inner: Data, *, agentic: bool = False, template: str = "{{inner.result}}") -> SeenRun:
    graph = studio.draw(
        "ask -> inner -> answer", ask={"variables": [{"name": "topic"}]}, inner=inner, answer={"template": template}
    )
    inputs: dict[str, JsonValue] = {"topic": "tides", "an_object": {"a": 1}}
    return await studio.run(graph, inputs=inputs, planner=["inner", "answer"] if agentic else None)


def inner_runs(studio: Studio, run: SeenRun) -> list[SeenRun]:
    return [
        studio.look(one.run_id) for one in studio.log.runs if one.inside and one.inside.parent_run_id == run.raw.run_id
    ]


def node_error(run: SeenRun, node: str = "inner") -> tuple[str, str]:
    error = run.visits_of(node)[-1].error if run.raw.visits else run.failure(node)
    assert error is not None
    return error.code, error.message


def told(run: SeenRun) -> list[tuple[object, object]]:
    """Index and status of each `sub_run` event."""
    return [(event.data["index"], event.data["status"]) for event in run.events_of(EventType.SUB_RUN)]


# One workflow.


@MODES
@INNER_MODES
async def test_a_workflow_node_gives_the_result_of_a_run_of_its_own(
    studio: Studio, agentic: bool, inner_agentic: bool
) -> None:
    run = await outer(studio, call(loud(agentic=inner_agentic)), agentic=agentic)
    assert run.result == "tides tides!"
    (inner,) = inner_runs(studio, run)
    assert inner.status is RunStatus.SUCCESS
    assert inner.raw.inputs == {"word": "tides"}
    assert told(run) == [(0, "RUNNING"), (0, "SUCCESS")]
    envelope = run.raw.visits[1].envelope if agentic else run.node("inner").envelope
    assert envelope is not None
    assert envelope.meta["subRuns"] == [inner.raw.run_id]
    assert inner.events[0].data["parentRunId"] == run.raw.run_id


async def test_declared_outputs_are_taken_from_the_result_by_name(studio: Studio) -> None:
    inner = file(
        "ask -> a; ask -> b",
        ask=WORD,
        a={"type": "output", "outputType": "text", "template": "A {{word}}"},
        b={"type": "output", "outputType": "text", "template": "B {{word}}"},
    )
    run = await outer(studio, call(inner, outputs=[{"name": "a"}, {"name": "none"}]), template="{{inner.a}}")
    assert run.result == "A tides"
    assert run.output("inner") == {"result": {"a": "A tides", "b": "B tides"}, "a": "A tides", "none": None}


@MODES
async def test_an_inner_run_that_fails_is_a_failure_of_the_node(studio: Studio, agentic: bool) -> None:
    inner = file("ask -> deep -> out", ask=WORD, deep={"type": "code", "source": "1/0"})
    run = await outer(studio, call(inner, failStrategy="abort"), agentic=agentic)
    assert run.status is RunStatus.FAILED
    code, message = node_error(run)
    assert code == "SUB_RUN_FAILED"
    assert "the run of 'inner' failed" in message
    assert "CODE_OFF" in message
    assert len(inner_runs(studio, run)) == 1


async def test_an_inner_run_without_a_result_is_a_failure_that_says_so(studio: Studio) -> None:
    inner = file(
        "ask -> choose -[branch-0]-> out; choose -[branch-1]-> other; other -> off",
        ask=WORD,
        choose={
            "type": "condition",
            "conditions": [
                {
                    "type": "IF",
                    "rules": {"match": "all", "items": [{"variable": "word", "operator": "eq", "value": "x"}]},
                }
            ],
        },
        other={"type": "template", "template": "x"},
        off={"type": "template", "template": "x"},
    )
    run = await outer(studio, call(inner))
    assert "NO_OUTPUT" in node_error(run)[1]


async def test_a_workflow_inside_itself_is_refused(studio: Studio) -> None:
    # given two saved workflows that call one another
    shelve(studio, "a", file("ask -> inner -> out", name="A", ask=WORD, inner=call("b", inputs={"word": "{{word}}"})))
    shelve(studio, "b", file("ask -> inner -> out", name="B", ask=WORD, inner=call("a", inputs={"word": "{{word}}"})))
    run = await outer(studio, call("a"))
    assert run.status is RunStatus.FAILED
    assert "'A' would run inside itself" in node_error(run)[1]
    assert len(studio.log.runs) == 3


async def test_workflows_inside_one_another_have_a_limit(studio: Studio) -> None:
    inner = loud()
    for _ in range(9):
        inner = file("ask -> inner -> out", name="deeper", ask=WORD, inner=call(inner, inputs={"word": "{{word}}"}))
    run = await outer(studio, call(inner))
    assert run.status is RunStatus.FAILED
    assert "9 levels deep; at most 8" in node_error(run)[1]
    assert len(studio.log.runs) == 9


async def test_a_workflow_that_is_not_there_or_cannot_run_is_said_to_be_so(studio: Studio) -> None:
    assert node_error(await outer(studio, call("nowhere"))) == ("NOT_FOUND", "There is no workflow 'nowhere'.")
    cyclic = file("ask -> a -> b -> a; b -> out", ask=WORD)
    code, message = node_error(await outer(studio, call(cyclic)))
    assert code == "INVALID"
    assert "'inner' cannot run" in message
    code, message = node_error(await outer(studio, call(loud(), inputs={})))
    assert code == "SUB_RUN_FAILED"
    assert "could not be started" in message
    assert "'word'" in message


# A list of items.


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


async def test_a_text_that_holds_a_list_is_one_and_an_empty_list_is_no_fault(studio: Studio) -> None:
    run = await outer(studio, each(loud(), '["a"]', inputs={"word": "{{item}}"}), template="{{inner.results}}")
    assert run.result == '["a a!"]'
    run = await outer(studio, each(loud(), []), template="{{inner.results}} {{inner.errors}}")
    assert run.result == "[] []"


def _picky() -> dict[str, JsonValue]:
    return file(
        "ask -> check; check -[branch-0]-> good; check -[branch-1]-> bad; bad -> out",
        name="picky",
        ask={"variables": [{"name": "item"}]},
        check={
            "type": "condition",
            "conditions": [
                {
                    "type": "IF",
                    "rules": {"match": "all", "items": [{"variable": "item", "operator": "eq", "value": "a"}]},
                }
            ],
        },
        bad={"type": "code", "source": "no"},
        good={"type": "output", "template": "fine {{item}}"},
    )


async def test_an_item_that_fails_leaves_the_others_alone_where_the_node_says_so(studio: Studio) -> None:
    inner = each(_picky(), ["a", "b", "a"], onItemError="continue", parallel=1)
    run = await outer(studio, inner, template="{{inner.results}}")
    assert run.result == '["fine a",null,"fine a"]'
    (error,) = cast("list[dict[str, JsonValue]]", run.output("inner")["errors"])
    assert (error["index"], error["code"]) == (1, "NODE_FAILED")
    assert error["runId"] == inner_runs(studio, run)[1].raw.run_id


async def test_an_item_that_fails_stops_the_others_else(studio: Studio) -> None:
    run = await outer(studio, each(_picky(), ["a", "b", "a"], parallel=1))
    assert node_error(run)[0] == "SUB_RUN_FAILED"
    assert "item 2 of 3 failed" in node_error(run)[1]
    assert [inner.status for inner in inner_runs(studio, run)] == [RunStatus.SUCCESS, RunStatus.FAILED]


async def test_items_at_work_are_cancelled_when_one_fails(studio: Studio) -> None:
    slow = file(
        "ask -> check; check -[branch-0]-> slow; check -[branch-1]-> bad; bad -> out; slow -> end",
        ask={"variables": [{"name": "item"}]},
        check={
            "type": "condition",
            "conditions": [
                {
                    "type": "IF",
                    "rules": {"match": "all", "items": [{"variable": "item", "operator": "eq", "value": "a"}]},
                }
            ],
        },
        bad={"type": "code", "source": "no"},
        slow={},
        answers={"slow": [{"hang": True}]},
    )
    run = await outer(studio, each(slow, ["a", "b"], parallel=2))
    assert [inner.status for inner in inner_runs(studio, run)] == [RunStatus.CANCELLED, RunStatus.FAILED]
    assert run.status is RunStatus.FAILED


# Waiting for people.


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
    studio.log.answer(studio.open_pause(inner.raw.run_id).pause_id, Given([("said", "yes")]), by="somebody")
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
async def test_a_tool_call_that_a_cancel_stops_is_on_record_inside_too(studio: Studio, agentic: bool) -> None:
    studio.tools = tools = Toolbox()
    tools.hangs = True
    use: Data = {"type": "tool", "server": "files", "tool": "write"}
    graph = studio.draw(
        "ask -> inner -> answer",
        ask={"variables": [{"name": "topic"}]},
        inner=call(file("ask -> use -> out", ask=WORD, use=use, out={"template": "-"})),
        answer={"template": "-"},
    )
    run_id = studio.accept(graph, inputs={"topic": "t"}, planner=["inner", "answer"] if agentic else None)
    driving = studio.start(run_id)
    await tools.came.wait()
    studio.log.cancel(run_id, by="somebody")
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    (inner,) = inner_runs(studio, studio.look(run_id))
    assert [(call.name, call.error and call.error.code) for call in inner.calls] == [("files__write", "CANCELLED")]
    assert [event.type.value for event in inner.events[-3:]] == ["tool_result", "node_status", "run_cancelled"]


@MODES
async def test_items_wait_one_by_one_for_their_answers(studio: Studio, agentic: bool) -> None:
    run = await outer(
        studio, each(asking(), ["a", "b", "c"], parallel=2), agentic=agentic, template="{{inner.results}}"
    )
    assert [inner.status for inner in inner_runs(studio, run)] == [RunStatus.PAUSED, RunStatus.PAUSED]
    for place in (1, 0, 2):
        inner = inner_runs(studio, run)[place]
        studio.log.answer(
            studio.open_pause(inner.raw.run_id).pause_id, Given([("said", f"yes {place}")]), by="somebody"
        )
        run = await studio.go_on(run.raw.run_id)
    assert run.result == '["a yes 0","b yes 1","c yes 2"]'
    assert len(inner_runs(studio, run)) == 3
    assert all(pause.status is not PauseStatus.OPEN for one in studio.log.runs for pause in one.pauses.values())


async def test_an_answer_is_heard_while_other_items_work(studio: Studio) -> None:
    # given one item that asks and one that works
    inner = file(
        "ask -> check; check -[branch-0]-> form; check -[branch-1]-> slow; form -> out; slow -> end",
        ask={"variables": [{"name": "item"}]},
        check={
            "type": "condition",
            "conditions": [
                {
                    "type": "IF",
                    "rules": {"match": "all", "items": [{"variable": "item", "operator": "eq", "value": "a"}]},
                }
            ],
        },
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
    studio.log.answer(studio.open_pause(first.raw.run_id).pause_id, Given([("said", "yes")]), by="somebody")
    await settled()
    assert inner_runs(studio, studio.look(run_id))[0].status is RunStatus.SUCCESS
    studio.let_go("slow")
    await studio.clock.run_through(task)
    assert studio.look(run_id).result == '["yes","done"]'


async def test_a_question_two_levels_down_pauses_all_and_is_heard_by_all(studio: Studio) -> None:
    middle = file("ask -> inner -> out", name="middle", ask=WORD, inner=call(asking(), inputs={"word": "{{word}}"}))
    run = await outer(studio, call(middle))
    assert [one.status for one in studio.log.runs] == [RunStatus.PAUSED] * 3
    deepest = studio.log.runs[-1]
    studio.log.answer(studio.open_pause(deepest.run_id).pause_id, Given([("said", "yes")]), by="somebody")
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
    studio.log.answer(studio.open_pause(inner.raw.run_id).pause_id, Given([("said", "yes")]), by="somebody")
    await settled()
    assert studio.look(run_id).statuses["inner"] == "SUCCESS"
    studio.let_go("slow")
    await studio.clock.run_through(task)
    assert studio.look(run_id).result == "tides yes done"


# Stopping.


@MODES
async def test_who_cancels_a_run_cancels_what_is_inside(studio: Studio, agentic: bool) -> None:
    run = await outer(studio, each(asking(), ["a", "b"]), agentic=agentic)
    studio.log.cancel(run.raw.run_id, by="somebody")
    assert {one.status for one in studio.log.runs} == {RunStatus.CANCELLED}
    assert inner_runs(studio, run)[0].story[-1] == "run_cancelled"


@MODES
async def test_an_inner_run_that_somebody_cancels_is_a_failure_of_the_node(studio: Studio, agentic: bool) -> None:
    inner = file("ask -> slow -> out", ask=WORD, slow={}, answers={"slow": [{"hang": True}]})
    graph = studio.draw(
        "ask -> inner -> answer", ask={"variables": [{"name": "topic"}]}, inner=call(inner, failStrategy="abort")
    )
    run_id = studio.accept(graph, inputs={"topic": "tides"}, planner=["inner", "answer"] if agentic else None)
    task = studio.start(run_id)
    await settled()
    studio.log.cancel(inner_runs(studio, studio.look(run_id))[0].raw.run_id, by="somebody")
    await studio.clock.run_through(task)
    run = studio.look(run_id)
    assert run.status is RunStatus.FAILED
    assert node_error(run) == ("SUB_RUN_FAILED", "the run of 'inner' was cancelled")


async def test_an_inner_run_that_waits_and_is_cancelled_lets_the_outer_one_go_on(studio: Studio) -> None:
    run = await outer(studio, each(asking(), ["a", "b"], onItemError="continue"), template="{{inner.results}}")
    first, second = inner_runs(studio, run)
    studio.log.cancel(first.raw.run_id, by="somebody")
    run = await studio.go_on(run.raw.run_id)
    assert run.status is RunStatus.PAUSED
    studio.log.answer(studio.open_pause(second.raw.run_id).pause_id, Given([("said", "yes")]), by="somebody")
    run = await studio.go_on(run.raw.run_id)
    assert run.result == '[null,"b yes"]'


async def test_when_the_outer_run_fails_elsewhere_its_inner_runs_end_with_it(studio: Studio) -> None:
    inner = file("ask -> slow -> out", ask=WORD, slow={}, answers={"slow": [{"hang": True}]})
    graph = studio.draw(
        "ask -> inner; ask -> pause -> bad; inner -> answer; bad -> answer",
        ask={"variables": [{"name": "topic"}]},
        inner=call(inner),
        bad={"type": "code", "source": "no"},
    )
    run = await studio.run(graph, inputs={"topic": "tides"}, answers={"pause": [{"text": "x", "delayMs": 50}]})
    assert run.status is RunStatus.FAILED
    (one,) = inner_runs(studio, run)
    assert one.status is RunStatus.CANCELLED
    assert one.node("slow").status is StepStatus.CANCELLED


async def test_a_node_that_takes_too_long_ends_its_runs(studio: Studio) -> None:
    inner = file("ask -> slow -> out", ask=WORD, slow={"maxRetries": 0}, answers={"slow": [{"hang": True}]})
    run = await outer(studio, call(inner, timeoutSeconds=5, maxRetries=1))
    assert node_error(run)[0] == "NODE_TIMEOUT"
    (one,) = inner_runs(studio, run)  # the second attempt went on with what the first had started
    assert one.status is RunStatus.CANCELLED


# What is used.


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


# Going on.


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
    inner = each(_picky(), ["a" if one else "b" for one in good], parallel=parallel, onItemError=on_error)
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
