"""Tools of models behind HTTP: what the provider is sent, and the calls that come back."""

from __future__ import annotations

import json
from typing import Any

from flyback.engine.ports import ChatRequest, Message, ToolCall, ToolSpec
from kit.model_server import ModelServer, raw
from providers.test_chat import SITE, a_model, ask

_LOOK = ToolSpec("look", "Looks it up.", {"type": "object", "properties": {"what": {"type": "string"}}})


def _call_in_pieces(*arguments: str) -> bytes:
    """An answer that calls `look`, its arguments in pieces, as providers of this protocol stream it."""
    first = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": ""}}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": [first]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in arguments]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    common = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "tiny-1"}
    lines = [f"data: {json.dumps({**common, 'choices': [choice]})}\n\n" for choice in choices]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


async def test_a_model_is_told_of_the_tools_and_the_call_that_it_makes_comes_back_whole() -> None:
    async with ModelServer(raw(_call_in_pieces('{"what":', '"tides"}'))) as server, a_model(server.base_url) as model:
        pieces, reply = await ask(model, ChatRequest([Message("user", "Tides?")], SITE, tools=[_LOOK]))
    assert pieces == []
    assert list(reply.tool_calls) == [ToolCall("c1", "look", {"what": "tides"})]
    sent = server.asked[0].body["tools"]
    assert isinstance(sent, list)
    assert json.loads(json.dumps(sent[0]))["function"]["name"] == "look"


async def test_earlier_calls_and_their_results_are_sent_in_the_providers_own_form() -> None:
    call = ToolCall("c1", "look", {"what": "tides"})
    talk = [
        Message("user", "Tides?"),
        Message("assistant", "", [call]),
        Message("tool", "high", call_id="c1", tool="look"),
    ]
    async with ModelServer(raw(_call_in_pieces("{}"))) as server, a_model(server.base_url) as model:
        await ask(model, ChatRequest(talk, SITE, tools=[_LOOK]))
    sent: Any = server.asked[0].body["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["id"] == "c1"
    assert (sent[2]["tool_call_id"], sent[2]["content"]) == ("c1", "high")
