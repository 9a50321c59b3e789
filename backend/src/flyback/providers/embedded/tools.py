"""Tools for a model that knows none: it is told of them in words and held to a JSON schema that is the union of their calls.

What it writes is read back as the call of a tool. Calls and results of earlier steps stand in its conversation as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from flyback.domain.json_value import dumps
from flyback.domain.lenient_json import find_objects
from flyback.engine.ports import ChatReply, ChatRequest, Message, ToolCall, ToolSpec

_TOOL = "tool"
_ARGUMENTS = "arguments"
_HOW = 'Answer with one JSON object that calls one of these tools: {"tool": "<name>", "arguments": {…}}'


def in_words(request: ChatRequest) -> ChatRequest:
    """Return the request as it is put to a model without tools."""
    told = "\n".join(
        [_HOW, *(f"- {tool.name}: {tool.description} {dumps(dict(tool.schema))}" for tool in request.tools)]
    )
    first, *rest = request.messages
    asked = [Message("system", f"{first.text}\n\n{told}"), *rest] if first.role == "system" else request.messages
    if first.role != "system":
        asked = [Message("system", told), *asked]
    return replace(request, messages=[_as_text(message) for message in asked], schema=_union(request.tools), tools=())


def called(reply: ChatReply, request: ChatRequest) -> ChatReply:
    """Return the reply with the call that it holds; one that holds none is an answer in words."""
    names = {tool.name for tool in request.tools}
    for found in reversed(find_objects(reply.text)):
        name, arguments = found.value.get(_TOOL), found.value.get(_ARGUMENTS)
        if isinstance(name, str) and name in names and isinstance(arguments, dict):
            call = ToolCall(f"call-{request.site.position + 1}", name, arguments)
            return replace(reply, text="", tool_calls=[call])
    return reply


def _as_text(message: Message) -> Message:
    if message.role == "tool":
        return Message("user", f"Result of {message.tool}:\n{message.text}")
    if not message.tool_calls:
        return message
    calls = [dumps({_TOOL: call.name, _ARGUMENTS: dict(call.arguments)}) for call in message.tool_calls]
    return Message("assistant", "\n".join([message.text, *calls]).strip())


def _union(tools: Sequence[ToolSpec]) -> dict[str, JsonValue]:
    calls: list[JsonValue] = [
        {
            "type": "object",
            "properties": {_TOOL: {"type": "string", "enum": [tool.name]}, _ARGUMENTS: dict(tool.schema)},
            "required": [_TOOL, _ARGUMENTS],
        }
        for tool in tools
    ]
    return {"anyOf": calls}
