"""Models behind HTTP, against a real server that speaks their protocol: answers, and every fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.errors import (
    ModelContextError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
    ModelUnreadableError,
    NodeError,
    OutputTooLargeError,
)
from flyback.domain.graph import NodeId
from flyback.domain.model_entry import Prices
from flyback.domain.redaction import Redactor
from flyback.domain.run import RunId, VisitId
from flyback.engine.ports import CallSite, ChatReply, ChatRequest, Message
from flyback.providers.chat.http_model import ChatConnections, HttpChatModel
from flyback.providers.chat.vendors import Endpoint, Protocol
from flyback.providers.limits import CallLimits
from flyback.providers.system import SystemClock
from kit.model_server import (
    Answer,
    ModelServer,
    breaks_off,
    drips,
    fails,
    hangs,
    never_ends,
    raw,
    resets,
    says,
)

KEY = "sk-Very+secret/key=1"
SITE = CallSite(RunId("run-1"), NodeId("draft"), VisitId("visit-1"), "node", 3)
SCHEMA: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"next": {"type": "string"}},
    "required": ["next"],
    "additionalProperties": False,
}


def asking(text: str = "hello", **more: JsonValue) -> ChatRequest:
    messages = [Message("system", "be brief"), Message("user", text)]
    return ChatRequest(messages, SITE, schema=SCHEMA if more.get("schema") else None)


@asynccontextmanager
async def a_model(
    base_url: str, *, prices: Prices | None = None, limits: CallLimits | None = None, api_key: str | None = KEY
) -> AsyncGenerator[HttpChatModel]:
    shared = ChatConnections(clock=SystemClock(), redactor=Redactor(), limits=limits)
    endpoint = Endpoint("openai", base_url, "tiny", api_key)
    try:
        yield HttpChatModel("mine", endpoint, shared, prices=prices)
    finally:
        await shared.close()


async def ask(model: HttpChatModel, request: ChatRequest | None = None) -> tuple[list[str], ChatReply]:
    pieces: list[str] = []
    async for part in model.stream(request or asking()):
        if isinstance(part, ChatReply):
            return pieces, part
        pieces.append(part)
    raise AssertionError("the call ended without a reply")


async def answered(answer: Answer, request: ChatRequest | None = None) -> tuple[list[str], ChatReply]:
    async with ModelServer(answer) as server, a_model(server.base_url) as model:
        return await ask(model, request)


async def failed(answer: Answer, *, limits: CallLimits | None = None) -> NodeError:
    async with ModelServer(answer) as server, a_model(server.base_url, limits=limits) as model:
        with pytest.raises(NodeError) as caught:
            await ask(model)
        assert len(server.asked) == 1, "the library must not try again by itself"
    return caught.value


# What is sent, and what comes back.


async def test_a_streamed_answer_comes_in_pieces_with_its_usage_and_price() -> None:
    prices = Prices(2.0, 10.0, "USD")
    async with ModelServer(says("Good ", "morning", "")) as server, a_model(server.base_url, prices=prices) as model:
        pieces, reply = await ask(model)
        assert model.has_price
    assert pieces == ["Good ", "morning"]
    assert (reply.text, reply.finish_reason, reply.model) == ("Good morning", "stop", "tiny-1")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.calls) == (11, 7, 1)
    assert reply.usage.cost == pytest.approx((11 * 2 + 7 * 10) / 1_000_000)
    assert not reply.usage.estimated


async def test_a_call_carries_its_key_its_limits_and_what_is_said() -> None:
    async with ModelServer() as server, a_model(server.base_url) as model:
        messages = [Message("system", "s"), Message("user", "u\x00"), Message("assistant", "a"), Message("user", "v")]
        await ask(model, ChatRequest(messages, SITE, temperature=0.3, max_tokens=40))
    asked = server.asked[0]
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["idempotency-key"] == "run-1/visit-1/node-3"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert {name: asked.body.get(name) for name in ("model", "temperature", "max_tokens", "stream")} == {
        "model": "tiny",
        "temperature": 0.3,
        "max_tokens": 40,
        "stream": True,
    }
    assert asked.body["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u�"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "v"},
    ]


async def test_given_no_key_none_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody-else")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with ModelServer() as server, a_model(server.base_url, api_key=None) as model:
        await ask(model)
    assert "authorization" not in server.asked[0].headers
    assert "somebody-else" not in str(server.asked[0].headers)


async def test_a_server_that_does_not_stream_is_understood() -> None:
    pieces, reply = await answered(says("all ", "at once", streams=False))
    assert (pieces, reply.text, reply.usage.output_tokens) == (["all at once"], "all at once", 7)


async def test_given_no_usage_it_is_estimated_and_marked() -> None:
    _, reply = await answered(says("x" * 40, usage=None))
    assert (reply.usage.output_tokens, reply.usage.estimated) == (10, True)


async def test_an_answer_cut_by_the_token_limit_says_so_even_when_it_is_empty() -> None:
    assert (await answered(says("half an ans", finish="length")))[1].finish_reason == "length"
    _, empty = await answered(says("", finish="length"))
    assert (empty.text, empty.finish_reason) == ("", "length")


async def test_thinking_is_left_out_of_the_text() -> None:
    pieces, reply = await answered(says("<think>", "hm {", "</think>", "yes"))
    assert (pieces, reply.text) == (["yes"], "yes")


async def test_every_character_survives_however_the_bytes_are_cut() -> None:
    text = "你好 é ✅👩‍👩‍👧 line1\r\nline3\u0085\u2028data: not an event"
    assert (await answered(drips(text)))[1].text == text


async def test_a_structured_answer_is_asked_for_as_content_and_not_as_a_tool() -> None:
    async with ModelServer(says('{"next": "b"}')) as server, a_model(server.base_url) as model:
        _, reply = await ask(model, asking(schema=True))
    asked = server.asked[0].body
    assert reply.text == '{"next": "b"}'
    assert "tools" not in asked
    form = asked["response_format"]
    assert isinstance(form, dict)
    assert form["type"] == "json_schema"


async def test_given_a_server_that_knows_no_schemas_it_is_asked_without_one_from_then_on() -> None:
    refused = fails(400, "This response_format type is unavailable now")
    async with ModelServer(refused, says("a"), says("b")) as server, a_model(server.base_url) as model:
        assert (await ask(model, asking(schema=True)))[1].text == "a"
        assert (await ask(model, asking(schema=True)))[1].text == "b"
    assert ["response_format" in asked.body for asked in server.asked] == [True, False, False]


async def test_given_a_caller_that_goes_away_the_call_is_ended_at_once() -> None:
    gate = asyncio.Event()
    async with ModelServer(says("a", "b", gate=gate)) as server, a_model(server.base_url) as model:
        stream = model.stream(asking())
        assert await anext(stream) == "a"
        await stream.aclose()
        asked = await server.was_asked()
        await asyncio.wait_for(asked.gone.wait(), 2)


async def test_given_a_cancelled_task_the_call_is_ended_at_once() -> None:
    async with ModelServer(hangs()) as server, a_model(server.base_url) as model:
        waiting = asyncio.ensure_future(ask(model))
        asked = await server.was_asked()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(asked.gone.wait(), 2)


async def test_calls_at_once_do_not_wait_for_each_other() -> None:
    gate = asyncio.Event()
    async with ModelServer(says("slow", gate=gate), says("fast")) as server, a_model(server.base_url) as model:
        slow = asyncio.ensure_future(ask(model))
        await server.was_asked()
        assert (await ask(model))[1].text == "fast"
        gate.set()
        assert (await slow)[1].text == "slow"


# Faults.

QUICK = CallLimits(first_byte_seconds=0.2, between_chunks_seconds=0.2, total_seconds=0.5, answer_bytes=20_000)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (hangs(), "no byte of an answer within 0.2 s"),
        (hangs(after_head=True), "no byte of an answer within 0.2 s"),
        (hangs(after=["a"]), "the answer stopped for 0.2 s"),
        (drips("slowly", every_seconds=0.05), "the answer was not complete after 0.5 s"),
    ],
)
async def test_a_silent_or_slow_server_is_left_in_time(answer: Answer, message: str) -> None:
    error = await failed(answer, limits=QUICK)
    assert isinstance(error, ModelTimeoutError)
    assert message in error.message
    assert error.fix


@pytest.mark.parametrize(
    "answer", [resets(), resets("half"), breaks_off("half"), breaks_off(), raw(b""), fails(500), fails(503), fails(529)]
)
async def test_a_broken_answer_can_be_tried_again(answer: Answer) -> None:
    error = await failed(answer)
    assert isinstance(error, ModelUnavailableError)
    assert error.retry_after_seconds is None


async def test_an_answer_that_never_ends_is_cut_by_its_size() -> None:
    error = await failed(never_ends(), limits=CallLimits(answer_bytes=20_000))
    assert isinstance(error, OutputTooLargeError)


async def test_a_refused_connection_can_be_tried_again() -> None:
    async with ModelServer() as server:
        url = server.base_url
    async with a_model(url) as model:
        with pytest.raises(ModelUnavailableError, match="no connection"):
            await ask(model)


@pytest.mark.parametrize(
    "answer",
    [
        raw(b"data: {not json\n\n"),
        raw(b"\x00\xff\xfe garbage", kind="application/json"),
        raw(b"[1, 2]", kind="application/json"),
        raw(b"<html><body>Welcome</body></html>", kind="text/html"),
        raw(b"\x1f\x8b123", content_encoding="gzip"),
        raw(b'data: {"choices": 5}\n\ndata: [DONE]\n\n'),
        raw(b'data: {"choices": [{"index": 0, "delta": "what", "finish_reason": "stop"}]}\n\n'),
    ],
)
async def test_garbage_is_said_to_be_unreadable(answer: Answer) -> None:
    assert isinstance(await failed(answer), ModelUnreadableError)


async def test_an_error_that_comes_with_200_is_an_error() -> None:
    whole = raw(b'{"error": {"message": "model is loading"}}', kind="application/json")
    in_stream = raw(b'data: {"error": {"message": "the engine fell over"}}\n\n')
    for answer, said in ((whole, "model is loading"), (in_stream, "the engine fell over")):
        error = await failed(answer)
        assert isinstance(error, ModelUnavailableError)
        assert said in error.message


_WAITS: list[tuple[dict[str, str], float | None]] = [
    ({"retry_after": "7"}, 7),
    ({"retry_after": "1.5"}, 1.5),
    ({"retry_after_ms": "250"}, 0.25),
    ({"retry_after": "soon"}, None),
    ({"retry_after": "nan"}, None),
    ({"retry_after": "-3"}, 0),
    ({}, None),
]


@pytest.mark.parametrize(("header", "seconds"), _WAITS)
async def test_a_429_says_how_long_to_wait(header: dict[str, str], seconds: float | None) -> None:
    error = await failed(fails(429, "slow down", **header))
    assert isinstance(error, ModelUnavailableError)
    assert error.retry_after_seconds == seconds
    assert "slow down" in error.message


async def test_a_429_may_name_a_date() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=30)
    error = await failed(fails(429, "later", retry_after=format_datetime(moment, usegmt=True)))
    assert isinstance(error, ModelUnavailableError)
    assert error.retry_after_seconds is not None
    assert 20 < error.retry_after_seconds <= 30


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_what_the_provider_refuses_is_told_in_its_own_words(status: int) -> None:
    error = await failed(fails(status, f"key {KEY} is not\nknown"))
    assert isinstance(error, ModelRefusedError)
    assert "key [secret] is not known" in error.message
    assert KEY not in error.message
    assert error.fix


async def test_a_prompt_that_does_not_fit_is_a_failure_of_its_own() -> None:
    error = await failed(fails(400, "This model's maximum context length is 8192 tokens."))
    assert isinstance(error, ModelContextError)


async def test_a_redirect_is_not_followed_so_that_the_key_stays_where_it_belongs() -> None:
    async with ModelServer() as other, ModelServer(raw(b"", status=307, location=f"{other.base_url}/x")) as server:
        async with a_model(server.base_url) as model:
            with pytest.raises(ModelRefusedError, match="redirected to"):
                await ask(model)
        assert other.asked == []


async def test_a_base_url_that_is_none_is_refused_with_a_remedy() -> None:
    async with a_model("ftp://example.invalid/v1") as model:
        with pytest.raises(ModelRefusedError, match="cannot be sent"):
            await ask(model)


_CHUNKS: tuple[JsonValue, ...] = (
    {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}}]},
    {"choices": [{"index": 0, "delta": {"content": None}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": "many"}},
    {"choices": [{"delta": None}]},
    {"choices": None, "model": 5},
    {"error": {"message": "fell over", "code": 503}},
    [],
    "text",
)
_PIECES = st.sampled_from(
    [
        *(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in _CHUNKS),
        b"data: [DONE]\n\n",
        b": still here\n\n",
        b"event: error\ndata: no\n\n",
        b"data: \xff\n\n",
        b"data:",
        b"\r\n\r\n",
    ]
)


@given(
    body=st.binary(max_size=80) | st.lists(_PIECES, max_size=6).map(b"".join),
    kind=st.sampled_from(["text/event-stream", "application/json", "text/plain", "text/html", ""]),
    status=st.sampled_from([200, 200, 200, 201, 204, 301, 404, 500, 599]),
)
def test_whatever_a_server_answers_it_is_a_reply_or_a_fault_of_the_model(body: bytes, kind: str, status: int) -> None:
    async def call() -> None:
        answer = raw(body if status != 204 else b"", status=status, kind=kind)
        async with ModelServer(answer) as server, a_model(server.base_url) as model:
            with suppress(NodeError):
                assert (await ask(model))[1].usage.calls == 1

    asyncio.run(call())


# The other protocols.


def _anthropic(line_events: list[tuple[str, JsonValue]]) -> bytes:
    return b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in line_events)


@asynccontextmanager
async def _speaking(protocol: Protocol, base_url: str) -> AsyncGenerator[HttpChatModel]:
    shared = ChatConnections(clock=SystemClock(), redactor=Redactor())
    try:
        yield HttpChatModel("other", Endpoint(protocol, base_url.removesuffix("/v1"), "some-model", KEY), shared)
    finally:
        await shared.close()


async def test_anthropics_protocol_is_spoken() -> None:
    usage: JsonValue = {"input_tokens": 9, "output_tokens": 1}
    message: JsonValue = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    assert isinstance(message, dict)
    body = _anthropic(
        [
            ("message_start", {"type": "message_start", "message": {**message, "usage": usage}}),
            (
                "content_block_start",
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            ),
            (
                "content_block_delta",
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
            ),
            ("content_block_stop", {"type": "content_block_stop", "index": 0}),
            (
                "message_delta",
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
            ),
            ("message_stop", {"type": "message_stop"}),
        ]
    )
    half = body[: body.index(b"event: content_block_stop")]
    answers = (raw(body), raw(half), fails(529))
    async with ModelServer(*answers) as server, _speaking("anthropic", server.base_url) as model:
        _, reply = await ask(model)
        for _ in range(2):
            with pytest.raises(ModelUnavailableError):
                await ask(model)
    assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == ("Hi", 9, 5)
    assert KEY in str(server.asked[0].headers)
    assert server.asked[0].headers["idempotency-key"] == "run-1/visit-1/node-3"
    assert len(server.asked) == 3


async def test_googles_protocol_is_spoken() -> None:
    chunk: JsonValue = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14},
        "modelVersion": "gemini-x",
    }
    body = f"data: {json.dumps(chunk)}\n\n".encode()
    answers = (raw(body), fails(503), fails(400, "API key not valid"))
    async with ModelServer(*answers) as server, _speaking("google", server.base_url) as model:
        _, reply = await ask(model)
        with pytest.raises(ModelUnavailableError):
            await ask(model)
        with pytest.raises(ModelRefusedError, match="API key not valid"):
            await ask(model)
    assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == ("Hi", 9, 5)
    assert server.asked[0].headers["idempotency-key"] == "run-1/visit-1/node-3"
    assert len(server.asked) == 3
