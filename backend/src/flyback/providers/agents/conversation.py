"""An agent's conversation so far: everything it needs to go on, as a value that can be written down and read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from flyback.domain.errors import StateCorruptError
from flyback.engine.ports import CLARIFY, ChatReply, Message, Role, ToolCall
from flyback.providers.agents.tools import FINAL_ANSWER

_VERSION = 1


class Conversation:
    def __init__(self, messages: Sequence[Message], *, steps: int = 0, unreadable: int = 0) -> None:
        self.messages: list[Message] = list(messages)
        self.steps = steps
        """Model calls so far."""
        self.unreadable = unreadable
        """Answers that could not be used."""

    @classmethod
    def begin(cls, instructions: Sequence[Message]) -> Conversation:
        return cls(instructions)

    def add_reply(self, reply: ChatReply) -> None:
        self.steps += 1
        self.messages.append(Message("assistant", reply.text, tool_calls=tuple(reply.tool_calls)))

    def add_result(self, call: ToolCall, text: str) -> None:
        self.messages.append(Message("tool", text, call_id=call.call_id, tool=call.name))

    def add_user(self, text: str) -> None:
        self.messages.append(Message("user", text))

    def unanswered(self) -> list[ToolCall]:
        """The calls that the model asked for last and that have no result yet, in order."""
        for place in range(len(self.messages) - 1, -1, -1):
            message = self.messages[place]
            if message.role == "assistant":
                known = {later.call_id for later in self.messages[place + 1 :]}
                return [call for call in message.tool_calls if call.call_id not in known]
        return []

    def used_tools(self) -> list[tuple[str, str]]:
        """Name and result of every tool that was used, in order. What a person was asked is nobody else's business."""
        own = (CLARIFY, FINAL_ANSWER)
        return [
            (message.tool, message.text)
            for message in self.messages
            if message.tool is not None and message.tool not in own
        ]

    # As it is stored.

    def on_wire(self) -> JsonValue:
        return {
            "v": _VERSION,
            "steps": self.steps,
            "unreadable": self.unreadable,
            "messages": [_message_on_wire(message) for message in self.messages],
        }

    @classmethod
    def read(cls, wire: JsonValue) -> Conversation:
        """Raises StateCorruptError: it was written by a program that this one does not know."""
        if not isinstance(wire, dict) or wire.get("v") != _VERSION:
            raise StateCorruptError("an agent's conversation cannot be read", fix="Start the run again.")
        messages = cast("Sequence[Mapping[str, JsonValue]]", wire["messages"])
        return cls(
            [_read_message(message) for message in messages],
            steps=cast("int", wire["steps"]),
            unreadable=cast("int", wire["unreadable"]),
        )


def _message_on_wire(message: Message) -> JsonValue:
    wire: dict[str, JsonValue] = {"role": message.role, "text": message.text}
    if message.tool_calls:
        wire["toolCalls"] = [
            {"callId": call.call_id, "name": call.name, "arguments": dict(call.arguments)}
            for call in message.tool_calls
        ]
    if message.call_id is not None:
        wire |= {"callId": message.call_id, "tool": message.tool}
    return wire


def _read_message(wire: Mapping[str, JsonValue]) -> Message:
    message = cast("Mapping[str, str]", wire)
    calls = cast("Sequence[Mapping[str, JsonValue]]", wire.get("toolCalls", ()))
    return Message(
        cast("Role", message["role"]),
        message["text"],
        tool_calls=tuple(
            ToolCall(
                cast("str", call["callId"]),
                cast("str", call["name"]),
                cast("Mapping[str, JsonValue]", call["arguments"]),
            )
            for call in calls
        ),
        call_id=message.get("callId"),
        tool=message.get("tool"),
    )
