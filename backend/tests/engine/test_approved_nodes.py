"""HTTP calls and programs before which a person is asked: whatever way the run came, once, with what was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from pydantic import JsonValue

from flyback.domain.answering import Given
from flyback.domain.errors import EgressUnavailableError
from flyback.domain.events import EventType
from flyback.domain.run import RunStatus
from flyback.engine.ports import CodeResult, WebAnswer, WebRequest
from kit.drawing import Data
from kit.inner_runs import each, file, inner_runs, outer
from kit.studio import SeenRun, Studio

YES = Given(action="approve")
NO = Given(answer="not on a Friday", action="deny")

SEND: Data = {
    "type": "http",
    "method": "POST",
    "url": "https://api.example/pay?token={{key?}}",
    "body": {"to": "{{path}}"},
    "auth": {"type": "bearer", "token": "{{key?}}"},
    "approval": True,
}
RUN: Data = {"type": "code", "source": "result = path", "inputs": {"path": "{{path}}"}, "approval": True}


@dataclass
class Done:
    """The outside and the sandbox as a test says they are; both keep what they were asked for."""

    faults: list[Exception] = field(default_factory=list[Exception])
    hangs: bool = False
    came: asyncio.Event = field(default_factory=asyncio.Event)
    done: list[object] = field(default_factory=list[object])

    async def _take(self, asked: object) -> None:
        self.done.append(asked)
        self.came.set()
        if self.hangs:
            await asyncio.Event().wait()
        if self.faults:
            raise self.faults.pop(0)

    async def fetch(self, request: WebRequest) -> WebAnswer:
        await self._take(request)
        return WebAnswer(200, (), b"done", request.url)

    async def run(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:
        await self._take((source, dict(inputs)))
        return CodeResult({"result": "done"}, "")


@pytest.fixture
def world(studio: Studio) -> Done:
    studio.egress = studio.sandbox = world = Done()
    return world


@dataclass(frozen=True)
class Kind:
    node: Data
    shown: Callable[[str], JsonValue]
    """What a person is to see, by the path that the node is given."""
    text: str
    said: str
    """The reference to what the node gives."""


def _request(path: str) -> JsonValue:
    headers: dict[str, JsonValue] = {"Authorization": "[secret]", "Content-Type": "application/json"}
    url = "https://api.example/pay?token=[secret]"
    return {"method": "POST", "url": url, "headers": headers, "body": f'{{"to":"{path}"}}'}


def _program(path: str) -> JsonValue:
    return {"source": "result = path", "inputs": {"path": path}}


HTTP_CALL = Kind(SEND, _request, "May this HTTP call be made?", "use.body")
PROGRAM = Kind(RUN, _program, "May this program run?", "use.result")
KINDS = pytest.mark.parametrize("kind", [HTTP_CALL, PROGRAM], ids=["http", "code"])


async def _asked(
    studio: Studio, kind: Kind, *, planner: list[str] | None = None, drawn: str = "ask -> use -> out", **data: JsonValue
) -> SeenRun:
    graph = studio.draw(drawn, use={**kind.node, **data}, out={"template": f"{{{{{kind.said}}}}}"})
    return await studio.run(graph, inputs={"path": "/a", "key": "s3cr3t"}, planner=planner)


@KINDS
@pytest.mark.parametrize("planner", [None, ["use", "out"]], ids=["DAG", "AGENTIC"])
async def test_a_node_that_is_marked_waits_for_a_person_who_is_shown_all_that_it_will_do(
    studio: Studio, world: Done, kind: Kind, planner: list[str] | None
) -> None:
    run = await _asked(studio, kind, planner=planner)
    assert (run.status, world.done) == (RunStatus.PAUSED, [])
    (asked,) = run.events_of(EventType.CLARIFY_REQUEST)
    assert (asked.data["kind"], "s3cr3t" in str(asked.data)) == ("approval", False)
    (question,) = run.pauses[0].ask.questions
    assert question.call is not None
    assert (question.text, question.call.arguments) == (kind.text, kind.shown("/a"))
    assert question.call.kind == kind.node["type"]
    # when it is approved
    run = await studio.answer(run.raw.run_id, given=YES)
    # then it is done, once, and stands on record
    assert (run.status, run.result, len(world.done)) == (RunStatus.SUCCESS, "done", 1)
    assert len([call for call in run.calls if call.kind == "tool"]) == 1
    assert len(run.events_of(EventType.TOOL_RESULT)) == 1


@KINDS
async def test_what_is_denied_is_not_done_and_fails_the_node_with_the_persons_words(
    studio: Studio, world: Done, kind: Kind
) -> None:
    run = await _asked(studio, kind)
    run = await studio.answer(run.raw.run_id, given=NO)
    assert (run.failure("use").code, world.done) == ("TOOL_DENIED", [])
    assert "not on a Friday" in run.failure("use").message


@KINDS
async def test_nobody_in_time_is_no_approval(studio: Studio, world: Done, kind: Kind) -> None:
    run = await _asked(studio, kind, timeout=60)
    await studio.clock.advance(61)
    (late,) = studio.log.expire()
    run = await studio.go_on(late.run_id)
    assert (run.failure("use").code, world.done) == ("ANSWER_TIMEOUT", [])


@KINDS
@pytest.mark.parametrize("drawn", ["ask -> use -> out", "ask -> out; use"], ids=["drawn", "jump"])
async def test_each_visit_is_asked_about_anew_however_the_run_came(
    studio: Studio, world: Done, kind: Kind, drawn: str
) -> None:
    run = await _asked(studio, kind, planner=["use", "use", "out"], drawn=drawn)
    assert (run.path, run.status, world.done) == (["ask", "use"], RunStatus.PAUSED, [])
    run = await studio.answer(run.raw.run_id, given=YES)
    assert (run.status, len(world.done)) == (RunStatus.PAUSED, 1)
    run = await studio.answer(run.raw.run_id, given=NO)
    assert (run.status, len(world.done)) == (RunStatus.SUCCESS, 1)


async def test_a_retry_asks_again_since_it_is_another_call(studio: Studio, world: Done) -> None:
    world.faults.append(EgressUnavailableError("away"))
    run = await _asked(studio, HTTP_CALL)
    run = await studio.answer(run.raw.run_id, given=YES)
    assert (run.status, len(world.done), len(run.pauses)) == (RunStatus.PAUSED, 1, 2)
    run = await studio.answer(run.raw.run_id, given=YES)
    assert (run.result, len(world.done)) == ("done", 2)


@KINDS
async def test_given_something_else_than_what_was_approved_nothing_is_done_before_that_is_approved(
    studio: Studio, world: Done, kind: Kind
) -> None:
    run = await _asked(studio, kind)
    raw = studio.log.run(run.raw.run_id)
    raw.inputs = {"path": "/etc/passwd", "key": "s3cr3t"}
    raw.nodes.pop(next(node for node in raw.nodes if node == "ask"))
    run = await studio.answer(run.raw.run_id, given=YES)
    assert (run.status, world.done) == (RunStatus.PAUSED, [])
    call = run.pauses[-1].ask.questions[0].call
    assert call is not None
    assert call.arguments == kind.shown("/etc/passwd")


async def test_an_approval_is_bound_to_what_is_masked_too(studio: Studio, world: Done) -> None:
    # given a call that was approved with one key, and another key when the node goes on
    run = await _asked(studio, HTTP_CALL)
    raw = studio.log.run(run.raw.run_id)
    raw.inputs = {"path": "/a", "key": "another"}
    raw.nodes.pop(next(node for node in raw.nodes if node == "ask"))
    run = await studio.answer(run.raw.run_id, given=YES)
    assert (run.status, world.done, len(run.pauses)) == (RunStatus.PAUSED, [], 2)


@KINDS
async def test_given_a_death_during_what_was_approved_it_is_done_again_as_the_same_call_and_nobody_is_asked(
    studio: Studio, world: Done, kind: Kind
) -> None:
    run = await _asked(studio, kind)
    world.hangs = True
    studio.log.answer(run.pauses[0].pause_id, YES, by="somebody")
    dying = studio.start(run.raw.run_id)
    await world.came.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    world.hangs = False
    run = await studio.go_on(run.raw.run_id)
    assert (run.result, len(run.pauses), len(world.done)) == ("done", 1, 2)
    assert world.done[0] == world.done[1]
    assert [(call.n, call.recovered) for call in run.calls] == [(1, True)]


@KINDS
async def test_each_item_of_an_iteration_is_asked_about_on_its_own(studio: Studio, world: Done, kind: Kind) -> None:
    use: Data = {**kind.node, "body": {"to": "{{item}}"}, "inputs": {"path": "{{item}}"}}
    inside = file("ask -> use -> out", ask={"variables": [{"name": "item"}]}, use=use, out={"template": "did"})
    way: Data = each(inside, ["/a", "/b"], onItemError="continue")
    run = await outer(studio, way, agentic=True, template="{{inner.results}}")
    assert (run.status, world.done) == (RunStatus.PAUSED, [])
    for place, said in ((1, YES), (0, NO)):
        inner = inner_runs(studio, run)[place]
        studio.log.answer(studio.open_pause(inner.raw.run_id).pause_id, said, by="somebody")
        run = await studio.go_on(run.raw.run_id)
    assert (run.result, len(world.done)) == ('[null,"did"]', 1)


@KINDS
async def test_a_node_that_is_not_marked_asks_nobody(studio: Studio, world: Done, kind: Kind) -> None:
    run = await _asked(studio, kind, approval=False)
    assert (run.result, len(world.done), run.pauses) == ("done", 1, [])
