"""The form in which Hermes speaks of messages, tools and completions: that of an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError
from flyback.domain.json_value import dumps, loads_mended, mend_text
from flyback.engine.ports import AgentTool, ChatReply, Message, Role, ToolCall, ToolSpec

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def read_messages(listed: JsonValue) -> list[Message]:
    """Read a conversation. What has no form that is known here is read as text."""
    read = [_message(item) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    names = {call.call_id: call.name for message in read for call in message.tool_calls}
    return [
        replace(message, tool=names.get(message.call_id or "", message.tool)) if message.role == "tool" else message
        for message in read
    ]


def on_wire(messages: Sequence[Message]) -> list[JsonValue]:
    return [_on_wire(message) for message in messages]


def tool_on_wire(tool: AgentTool) -> JsonValue:
    """Return a tool as Hermes' registry takes it."""
    return {"name": tool.spec.name, "description": tool.spec.description, "parameters": dict(tool.spec.schema)}


def read_tools(listed: JsonValue) -> list[ToolSpec]:
    """Read the tools that Hermes offers to its model."""
    found = [item.get("function") for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [
        ToolSpec(_text(tool.get("name")), _text(tool.get("description")), _mapping(tool.get("parameters")))
        for tool in found
        if isinstance(tool, dict)
    ]


def completion(reply: ChatReply, number: int) -> JsonValue:
    """Return a reply as the completion that Hermes waits for."""
    calls: list[JsonValue] = [_call_on_wire(call) for call in reply.tool_calls]
    message: dict[str, JsonValue] = {"role": "assistant", "content": reply.text}
    usage: JsonValue = {
        "prompt_tokens": reply.usage.input_tokens,
        "completion_tokens": reply.usage.output_tokens,
        "total_tokens": reply.usage.input_tokens + reply.usage.output_tokens,
    }
    if calls:
        message["tool_calls"] = calls
    choice: dict[str, JsonValue] = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if calls else reply.finish_reason,
    }
    return {
        "id": f"flyback-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": [choice],
        "usage": usage,
    }


def _message(item: Mapping[str, JsonValue]) -> Message:
    calls = item.get("tool_calls")
    return Message(
        _ROLES.get(_text(item.get("role")), "user"),
        _content(item.get("content")),
        tool_calls=[_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else (),
        call_id=cast("str | None", item.get("tool_call_id")),
        tool=_text(item.get("name")) if item.get("role") == "tool" else None,
    )


def _call(wire: Mapping[str, JsonValue]) -> ToolCall:
    function = _mapping(wire.get("function"))
    try:
        arguments = loads_mended(_text(function.get("arguments")) or "{}")[0]
    except BadJsonError:
        arguments = {}
    return ToolCall(_text(wire.get("id")), _text(function.get("name")), _mapping(arguments))


def _content(content: JsonValue) -> str:
    if isinstance(content, list):
        return "\n".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return _text(content)


def _on_wire(message: Message) -> JsonValue:
    wire: dict[str, JsonValue] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        wire["tool_calls"] = [_call_on_wire(call) for call in message.tool_calls]
    if message.call_id is not None:
        wire |= {"tool_call_id": message.call_id, "name": message.tool}
    return wire


def _call_on_wire(call: ToolCall) -> JsonValue:
    function: JsonValue = {"name": call.name, "arguments": dumps(dict(call.arguments))}
    return {"id": call.call_id, "type": "function", "function": function}


def _text(value: JsonValue) -> str:
    return mend_text(value) if isinstance(value, str) else "" if value is None else dumps(value)


def _mapping(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}
