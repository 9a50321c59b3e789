"""How runs inside a run end before their time: cancelled, timed out, or with the run around them."""

from __future__ import annotations

import asyncio

from flyback.domain.run import RunStatus, StepStatus
from kit.clock import settled
from kit.drawing import Data
from kit.inner_runs import (
    MODES,
    WORD,
    answer,
    asking,
    call,
    each,
    file,
    hanging,
    inner_runs,
    node_error,
    outer,
)
from kit.studio import Studio
from kit.toolbox import Toolbox


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
async def test_who_cancels_a_run_cancels_what_is_inside(studio: Studio, agentic: bool) -> None:
    run = await outer(studio, each(asking(), ["a", "b"]), agentic=agentic)
    studio.log.cancel(run.raw.run_id, by="somebody")
    assert {one.status for one in studio.log.runs} == {RunStatus.CANCELLED}
    assert inner_runs(studio, run)[0].story[-1] == "run_cancelled"


@MODES
async def test_an_inner_run_that_somebody_cancels_is_a_failure_of_the_node(studio: Studio, agentic: bool) -> None:
    graph = studio.draw(
        "ask -> inner -> answer", ask={"variables": [{"name": "topic"}]}, inner=call(hanging(), failStrategy="abort")
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
    answer(studio, second, "yes")
    run = await studio.go_on(run.raw.run_id)
    assert run.result == '[null,"b yes"]'


async def test_when_the_outer_run_fails_elsewhere_its_inner_runs_end_with_it(studio: Studio) -> None:
    graph = studio.draw(
        "ask -> inner; ask -> pause -> bad; inner -> answer; bad -> answer",
        ask={"variables": [{"name": "topic"}]},
        inner=call(hanging()),
        bad={"type": "code", "source": "no"},
    )
    run = await studio.run(graph, inputs={"topic": "tides"}, answers={"pause": [{"text": "x", "delayMs": 50}]})
    assert run.status is RunStatus.FAILED
    (one,) = inner_runs(studio, run)
    assert one.status is RunStatus.CANCELLED
    assert one.node("slow").status is StepStatus.CANCELLED


async def test_a_node_that_takes_too_long_ends_its_runs(studio: Studio) -> None:
    run = await outer(studio, call(hanging(maxRetries=0), timeoutSeconds=5, maxRetries=1))
    assert node_error(run)[0] == "NODE_TIMEOUT"
    (one,) = inner_runs(studio, run)  # the second attempt went on with what the first had started
    assert one.status is RunStatus.CANCELLED
