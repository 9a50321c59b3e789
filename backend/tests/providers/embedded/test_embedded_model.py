"""The real small model at work in the real engine: texts, conditions, the planner, and what happens when it is cut off."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import JsonValue

from flyback.domain.errors import ModelContextError, ModelUnavailableError
from flyback.domain.events import LiveText
from flyback.domain.graph import Graph, NodeId
from flyback.domain.graph_file import read_graph
from flyback.domain.run import Mode, RunId, RunStatus
from flyback.engine.agentic.likelihood import MARGIN
from flyback.engine.drive import drive
from flyback.engine.ports import CallSite, ChatReply, ChatRequest, Message
from flyback.providers.embedded.host import EmbeddedHost
from flyback.providers.embedded.model import EmbeddedModel
from flyback.providers.limits import CallLimits
from flyback.providers.system import SystemClock
from kit.studio import Studio, Watcher

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(900)]

SITE = CallSite(RunId("run"), NodeId("node"), None, "node", 1)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def host(small_model: Path) -> AsyncGenerator[EmbeddedHost]:
    host = EmbeddedHost(lambda: small_model)
    yield host
    await host.close()


@pytest.fixture
def model(host: EmbeddedHost) -> EmbeddedModel:
    return embedded(host)


class TellingWatcher(Watcher):
    """Lets a test wait for the first text of a node."""

    def __init__(self) -> None:
        super().__init__()
        self._came: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    def publish(self, text: LiveText) -> None:
        super().publish(text)
        if text.text:
            self._came[text.node_id].set()

    async def has_text(self, node_id: str) -> None:
        await self._came[node_id].wait()


@pytest.fixture
def watcher() -> TellingWatcher:
    return TellingWatcher()


@pytest.fixture
def studio(model: EmbeddedModel, watcher: TellingWatcher) -> Studio:
    studio = Studio()
    studio.watcher = watcher
    studio.shelf.models["embedded"] = model
    return studio


def embedded(host: EmbeddedHost) -> EmbeddedModel:
    return EmbeddedModel(host, name="embedded", model="small", clock=SystemClock(), limits=CallLimits())


def draw(nodes: dict[str, tuple[str, dict[str, JsonValue]]], *edges: str) -> Graph:
    """`nodes`: id to type and data; an edge is `a>b` or `a:handle>b`."""
    listed: list[JsonValue] = [{"id": name, "type": kind, "data": data} for name, (kind, data) in nodes.items()]
    drawn: list[JsonValue] = []
    for edge in edges:
        source, _, target = edge.partition(">")
        name, _, handle = source.partition(":")
        drawn.append({"id": edge, "source": name, "target": target, "sourceHandle": handle or "output"})
    graph, faults = read_graph({"nodes": listed, "edges": drawn})
    assert not faults
    return graph


def one_llm(prompt: str, **data: JsonValue) -> Graph:
    return draw({"say": ("llm", {"userPrompt": prompt, **data}), "out": ("output", {})}, "say>out")


async def text_of(model: EmbeddedModel, prompt: str, *, max_tokens: int = 8) -> str:
    """Ask the model in person."""
    request = ChatRequest([Message("user", prompt)], SITE, max_tokens=max_tokens)
    async with aclosing(model.stream(request)) as stream:
        return "".join([piece async for piece in stream if isinstance(piece, str)])


async def has_ended(pid: int) -> bool:
    """Wait until a process is gone."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(await asyncio.to_thread(select.select, [handle], [], [], 30))
    finally:
        os.close(handle)


async def test_given_no_other_model_an_llm_node_is_answered_and_streamed(studio: Studio) -> None:
    run_id = studio.accept(one_llm("Say hello.", maxTokens=12), model="embedded")
    await studio.start(run_id)
    run = studio.look(run_id)
    assert run.status is RunStatus.SUCCESS
    assert isinstance(run.result, str)
    assert run.result
    assert studio.watcher.shown("say") == run.result
    usage = run.raw.usage.total
    assert usage.input_tokens > 0
    assert 0 < usage.output_tokens <= 12
    assert not usage.estimated


async def test_given_an_expression_a_condition_is_decided_by_likelihood(studio: Studio) -> None:
    conditions: list[JsonValue] = [{"expression": "the writer complains"}, {"expression": "the writer says thanks"}]
    graph = draw(
        {
            "ask": ("userInput", {"variables": [{"name": "message"}]}),
            "choose": ("condition", {"conditions": conditions}),
            "a": ("output", {"template": "0"}),
            "b": ("output", {"template": "1"}),
            "c": ("output", {"template": "2"}),
        },
        "ask>choose",
        "choose:branch-0>a",
        "choose:branch-1>b",
        "choose:branch-2>c",
    )
    run_id = studio.accept(graph, inputs={"message": "The soup was cold and I waited an hour."}, model="embedded")
    await studio.start(run_id)
    run = studio.look(run_id)
    envelope = run.raw.nodes[NodeId("choose")].envelope
    assert run.status is RunStatus.SUCCESS
    assert envelope is not None
    assert envelope.meta["method"] == "likelihood"
    scores = envelope.meta["scores"]
    assert isinstance(scores, dict)
    assert list(scores) == ["branch-0", "branch-1"]


async def test_given_an_agentic_run_the_planner_decides_by_likelihood_and_gives_a_reason(studio: Studio) -> None:
    graph = draw(
        {
            "begin": ("template", {"label": "Collect the facts", "template": "The facts are: 3 apples, 2 pears."}),
            "write": ("template", {"label": "Write the report", "template": "Report: 5 fruits."}),
            "out": ("output", {"label": "Hand over the report"}),
        },
        "begin>write",
        "write>out",
    )
    run_id = studio.accept(graph, model="embedded", mode=Mode.AGENTIC, max_visits=2)
    await studio.start(run_id)
    decision = studio.look(run_id).raw.visits[0].decision
    assert decision is not None
    assert decision.source == "planner"
    assert decision.scores is not None
    assert set(decision.scores) == {"begin", "write", "out"}
    assert decision.margin is not None
    assert decision.method == "likelihood_edge" or decision.next == max(
        decision.scores, key=decision.scores.__getitem__
    )
    assert decision.method == "likelihood" or decision.margin < MARGIN
    assert decision.reason
    assert decision.usage.calls == 2


async def test_when_a_run_is_cancelled_the_model_stops_at_once_and_is_free(
    studio: Studio, watcher: TellingWatcher, host: EmbeddedHost, model: EmbeddedModel
) -> None:
    process = host.process_id
    run_id = studio.accept(one_llm("Write a very long story about the sea.", maxTokens=2000), model="embedded")
    driving = studio.start(run_id)
    await watcher.has_text("say")
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    assert await text_of(model, "Say hello.")
    assert host.process_id == process
    assert studio.look(run_id).status is RunStatus.RUNNING


async def test_when_the_model_crashes_the_call_is_tried_again_in_a_new_process(
    studio: Studio, watcher: TellingWatcher, host: EmbeddedHost
) -> None:
    run_id = studio.accept(one_llm("Count from one to thirty, in words.", maxTokens=60), model="embedded")
    engine = replace(studio.engine(), clock=SystemClock())
    driving = asyncio.create_task(drive(engine, run_id, 0))
    await watcher.has_text("say")
    assert host.process_id is not None
    os.kill(host.process_id, signal.SIGKILL)
    await driving
    run = studio.look(run_id)
    assert run.status is RunStatus.SUCCESS
    assert run.raw.nodes[NodeId("say")].attempts == 2


async def test_given_a_schema_the_answer_is_closed_json_without_loose_blanks(model: EmbeddedModel) -> None:
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"],
    }
    request = ChatRequest([Message("user", "Name a city.")], SITE, schema=schema, max_tokens=60)
    async with aclosing(model.stream(request)) as stream:
        (reply,) = [piece async for piece in stream if isinstance(piece, ChatReply)]
    assert list(json.loads(reply.text)) == ["city"]
    assert reply.text == json.dumps(json.loads(reply.text), separators=(",", ":"), ensure_ascii=False)


async def test_given_a_prompt_that_does_not_fit_the_window_it_is_refused(model: EmbeddedModel) -> None:
    with pytest.raises(ModelContextError):
        await text_of(model, "word " * 9000)


async def test_a_decision_does_not_wait_behind_texts(model: EmbeddedModel) -> None:
    assert model.decider is not None
    writing = [asyncio.create_task(text_of(model, f"Tell story {n}.", max_tokens=400)) for n in range(5)]
    verdict = await model.decider.decide("It rains.", ["the weather is dry", "the weather is wet"], site=SITE)
    assert len(verdict.scores) == 2
    assert not writing[-1].done()  # it came after four others, and the decision went before it
    for task in writing:
        task.cancel()
    await asyncio.gather(*writing, return_exceptions=True)


async def test_given_an_idle_while_the_process_ends_and_the_next_call_starts_another(small_model: Path) -> None:
    host = EmbeddedHost(lambda: small_model, idle_seconds=0)
    first: int | None = None
    try:
        async with aclosing(host.call({"op": "score", "prompts": [], "yes": ["yes"], "no": ["no"]})) as events:
            async for _ in events:
                first = host.process_id
        assert first is not None
        assert await has_ended(first)
        assert await text_of(embedded(host), "Say hello.", max_tokens=1)
    finally:
        await host.close()


async def test_when_the_server_is_killed_the_model_goes_with_it(small_model: Path) -> None:
    program = """
import asyncio, os, signal, sys
from pathlib import Path
from flyback.providers.embedded.host import EmbeddedHost
async def main():
    host = EmbeddedHost(lambda: Path(sys.argv[1]))
    async for _ in host.call({"op": "score", "prompts": [], "yes": ["yes"], "no": ["no"]}):
        print(host.process_id, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    command = [sys.executable, "-c", program, str(small_model)]
    ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL
    assert await has_ended(int(ended.stdout))


async def test_given_a_file_that_is_no_model_it_says_that_it_cannot_be_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    host = EmbeddedHost(lambda: broken)
    try:
        with pytest.raises(ModelUnavailableError, match="did not start"):
            await text_of(embedded(host), "Say hello.")
    finally:
        await host.close()
