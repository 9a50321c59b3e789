"""The workflow node: a run of its own inside a run, its result, its faults and its limits."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from flyback.domain.graph_file import read_document
from flyback.domain.run import RunStatus, WorkflowId
from flyback.engine.ports import FoundWorkflow
from kit.drawing import when
from kit.inner_runs import (
    INNER_MODES,
    MODES,
    WORD,
    call,
    file,
    inner_runs,
    loud,
    node_error,
    outer,
    told,
)
from kit.studio import Studio


def shelve(studio: Studio, workflow_id: str, workflow: Mapping[str, JsonValue]) -> None:
    studio.shelf.workflows[workflow_id] = FoundWorkflow(read_document(dict(workflow)), WorkflowId(workflow_id))


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
        choose=when("word", "x"),
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
