"""Model calls of a run: their keys, their place in a script, what is on record, and text on its way to people."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from flyback.domain.errors import BudgetExceededError, ModelUnavailableError
from flyback.domain.graph import NodeId
from flyback.domain.run import Budget, Mode, RunId, RunUsage, Usage, VisitId
from flyback.engine.calls import Meter
from flyback.engine.live_text import as_is
from flyback.engine.log import CallCount, CallRole, RunOptions, RunState
from flyback.engine.ports import ChatReply, ChatRequest, Decider, Message
from kit.clock import settled
from kit.drawing import draw
from kit.studio import Studio

A, B = NodeId("a"), NodeId("b")
ONE, TWO = VisitId("visit-1"), VisitId("visit-2")
PROMPT = [Message("user", "Say something.")]


class Speaker:
    """A model entry that says what it is given, then breaks where it is told to."""

    name = "speaker"
    has_price = True
    decider: Decider | None = None

    def __init__(self, *pieces: str, breaks: Exception | None = None, ends: bool = True) -> None:
        self._pieces = pieces
        self._breaks = breaks
        self._ends = ends
        self.requests: list[ChatRequest] = []

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        self.requests.append(request)
        for piece in self._pieces:
            yield piece
        if self._breaks is not None:
            raise self._breaks
        if self._ends:
            yield ChatReply("".join(self._pieces), "stop", Usage(10, 5, 1, cost=0.5, currency="EUR"), "speaker-1")


def meter(studio: Studio, *counts: CallCount, budget: Budget | None = None, usage: RunUsage | None = None) -> Meter:
    state = RunState(
        run_id=RunId("run"),
        owner_id="local",
        workflow_id=None,
        mode=Mode.AGENTIC,
        graph=draw("ask -> a -> b -> out"),
        inputs={},
        options=RunOptions("speaker", budget=budget or Budget()),
        epoch=1,
        step=0,
        usage=usage or RunUsage(),
        call_counts=counts,
    )
    return Meter(state, studio.engine())


async def test_a_key_counts_the_calls_recorded_at_its_place_and_a_script_those_of_its_node(studio: Studio) -> None:
    # given a run that has recorded calls at two visits of a node, and of the planner
    found = meter(
        studio,
        CallCount(A, ONE, "node", 2),
        CallCount(A, TWO, "node", 1),
        CallCount(A, ONE, "planner", 1),
        CallCount(B, TWO, "planner", 3),
    )
    speaker = Speaker("hi")
    places: list[tuple[NodeId, VisitId, CallRole]] = [
        (A, TWO, "node"),
        (A, TWO, "node"),
        (B, ONE, "node"),
        (A, ONE, "planner"),
    ]
    # when it goes on
    for node_id, visit_id, role in places:
        await found.at(node_id, visit_id, role, 1).ask(speaker, PROMPT)
    # then
    sites = [request.site for request in speaker.requests]
    assert [site.idempotency_key for site in sites] == [
        "run/visit-2/node-2",
        "run/visit-2/node-3",
        "run/visit-1/node-1",
        "run/visit-1/planner-2",
    ]
    assert [site.position for site in sites] == [3, 4, 0, 4]


async def test_what_was_used_is_summed_the_planners_apart(studio: Studio) -> None:
    found = meter(studio, usage=RunUsage(Usage(1, 1, 1, cost=0.25, currency="EUR"), Usage(), 7))
    await found.at(A, ONE, "node", 1).ask(Speaker("hi"), PROMPT)
    await found.at(A, ONE, "planner", 1).ask(Speaker("hi"), PROMPT)
    studio.clock.seconds = 3
    assert found.usage == RunUsage(
        Usage(21, 11, 3, cost=1.25, currency="EUR"), Usage(10, 5, 1, cost=0.5, currency="EUR"), 10
    )


async def test_a_call_that_broke_is_on_record_with_what_it_brought(studio: Studio) -> None:
    # given a stream that breaks in the middle
    place = meter(studio).at(A, ONE, "node", 2)
    with pytest.raises(ModelUnavailableError):
        await place.ask(Speaker("so ", "far", breaks=ModelUnavailableError("reset")), PROMPT)
    # then its record tells the partial text, the error, and an estimate
    (record,) = place.take_records()
    assert record.response == {"text": "so far"}
    assert record.error is not None
    assert (record.error.code, record.attempt, record.n) == ("MODEL_UNAVAILABLE", 2, 1)
    assert (record.usage.output_tokens, record.usage.estimated) == (2, True)
    assert place.take_records() == ()


async def test_a_stream_that_just_stops_is_no_answer(studio: Studio) -> None:
    place = meter(studio).at(A, ONE, "node", 1)
    with pytest.raises(ModelUnavailableError, match="broke off"):
        await place.ask(Speaker("so far", ends=False), PROMPT)


async def test_records_that_no_place_took_stay_with_the_meter(studio: Studio) -> None:
    found = meter(studio)
    taken, left = found.at(A, ONE, "node", 1), found.at(B, TWO, "node", 1)
    await taken.ask(Speaker("1"), PROMPT)
    await left.ask(Speaker("2"), PROMPT)
    assert len(taken.take_records()) == 1
    assert [record.node_id for record in found.take_records()] == [B]


@pytest.mark.parametrize(("asked", "sent"), [(None, 60), (20, 20), (500, 60)])
async def test_a_call_is_allowed_no_more_than_is_left(studio: Studio, asked: int | None, sent: int) -> None:
    found = meter(studio, budget=Budget(tokens=100), usage=RunUsage(Usage(30, 10, 1)))
    speaker = Speaker("hi")
    await found.at(A, ONE, "node", 1).ask(speaker, PROMPT, max_tokens=asked)
    assert speaker.requests[0].max_tokens == sent


@pytest.mark.parametrize("budget", [Budget(tokens=40), Budget(cost=0.5), Budget(seconds=9)])
async def test_a_budget_that_is_used_up_allows_no_call(studio: Studio, budget: Budget) -> None:
    found = meter(studio, budget=budget, usage=RunUsage(Usage(30, 10, 1, cost=0.5), driven_seconds=9))
    speaker = Speaker("hi")
    with pytest.raises(BudgetExceededError, match="budget is used up"):
        await found.at(A, ONE, "node", 1).ask(speaker, PROMPT)
    assert speaker.requests == []


async def test_text_that_is_held_back_is_shown_when_it_is_released(studio: Studio) -> None:
    # given a planner that is asked before its visit is stored
    place = meter(studio).at(A, ONE, "planner", 1, held=True)
    await place.ask(Speaker("rea", "son"), PROMPT, on_text=as_is)
    assert studio.watcher.texts == []
    # when it is stored, then what was said is shown at once
    place.release()
    assert [(text.text, text.whole) for text in studio.watcher.texts] == [("", True), ("reason", False)]
    # and what comes later as it comes
    await place.ask(Speaker("more"), PROMPT, on_text=as_is)
    assert studio.watcher.shown("a") == "reasonmore"


async def test_people_are_shown_what_is_made_of_each_piece(studio: Studio) -> None:
    place = meter(studio).at(A, ONE, "planner", 1)
    await place.ask(Speaker("a1", "b2"), PROMPT, on_text=lambda piece: piece[0].upper())
    assert studio.watcher.shown("a") == "AB"
    assert {text.source for text in studio.watcher.texts} == {"planner"}


async def test_a_call_that_is_stopped_is_aborted_and_on_record(studio: Studio) -> None:
    # given a call that waits
    place = meter(studio).at(A, ONE, "node", 1)
    waiting = asyncio.Event()
    closed: list[bool] = []

    class Waiting(Speaker):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
            try:
                yield request.site.node_id
                await waiting.wait()
            finally:
                closed.append(True)

    task = asyncio.create_task(place.ask(Waiting(), PROMPT))
    await settled()
    # when its task is cancelled
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    # then the stream was closed by then
    assert closed == [True]
    (record,) = place.take_records()
    assert record.error is not None
    assert record.error.code == "CANCELLED"
