"""Tools for a model that knows none: what it is told, and how its answer is read."""

from __future__ import annotations

from flyback.domain.graph import NodeId
from flyback.domain.run import RunId, Usage
from flyback.engine.ports import CallSite, ChatReply, ChatRequest, Message, ToolCall, ToolSpec
from flyback.providers.embedded.tools import called, in_words

_LOOK = ToolSpec("look", "Looks it up.", {"type": "object", "properties": {"what": {"type": "string"}}})
_END = ToolSpec("final_answer", "Ends.", {"type": "object", "properties": {}})
_SITE = CallSite(RunId("run"), NodeId("act"), None, "node", 3, position=2)


def _request(*messages: Message) -> ChatRequest:
    return ChatRequest(messages, _SITE, tools=[_LOOK, _END])


def _reply(text: str) -> ChatReply:
    return ChatReply(text, "stop", Usage(), "small")


def test_it_is_told_of_its_tools_and_held_to_a_call_of_one_of_them() -> None:
    asked = in_words(_request(Message("system", "You help."), Message("user", "Tides?")))
    assert asked.messages[0].text.startswith("You help.\n\nAnswer with one JSON object")
    assert "- look: Looks it up." in asked.messages[0].text
    assert asked.tools == ()
    assert asked.schema is not None
    calls = asked.schema["anyOf"]
    assert isinstance(calls, list)
    assert len(calls) == 2


def test_earlier_calls_and_results_stand_in_the_conversation_as_text() -> None:
    call = ToolCall("call-1", "look", {"what": "tides"})
    talk = _request(
        Message("user", "Tides?"),
        Message("assistant", "", [call]),
        Message("tool", "high", call_id="call-1", tool="look"),
    )
    told = in_words(talk).messages
    assert [message.role for message in told] == ["system", "user", "assistant", "user"]
    assert told[2].text == '{"tool":"look","arguments":{"what":"tides"}}'
    assert told[3].text == "Result of look:\nhigh"


def test_what_it_writes_is_read_as_a_call() -> None:
    reply = called(_reply('```json\n{"tool": "look", "arguments": {"what": "tides"}}\n```'), _request())
    assert reply.tool_calls == [ToolCall("call-3", "look", {"what": "tides"})]
    assert reply.text == ""


def test_an_answer_in_words_or_of_an_unknown_tool_stays_an_answer() -> None:
    for text in ("It is high.", '{"tool": "fly", "arguments": {}}'):
        assert called(_reply(text), _request()) == _reply(text)
