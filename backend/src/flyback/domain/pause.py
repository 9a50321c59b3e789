"""A pause: a question to a person, and what the person said.

A pause is a row, and not a thread. What is asked, how long it is waited for and what the asking node needs in order to go
on stand in it, so that an answer can come to any process at any later time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, cast

from pydantic import JsonValue

from flyback.domain.graph import NodeId
from flyback.domain.inputs import Variable
from flyback.domain.json_value import canonical
from flyback.domain.run import RunId, VisitId

PauseKind = Literal["question", "form", "approval", "subRun"]
"""A node that waits for a person in one of its sub-runs asks nothing itself: `subRun` pauses are shown to nobody."""
OnTimeout = Literal["fail", "default", "route"]
CallKind = Literal["tool", "http", "code"]
"""A tool's call, or what a node does itself: an HTTP call, a program. The name tells nothing: a tool has any it likes."""

SUB_RUN: PauseKind = "subRun"

ANSWER = "answer"
SKIP = "skip"
APPROVE = "approve"
DENY = "deny"
CANCEL = "cancel"
"""An action of every pause: it cancels the run."""


def qualified_name(server: str | None, tool: str) -> str:
    """Return a tool's name among the tools of all servers."""
    return tool if server is None else f"{server}__{tool}"


class PauseStatus(StrEnum):
    OPEN = "OPEN"
    ANSWERED = "ANSWERED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class CallAsked:
    """A call that waits for a person's approval, exactly as it will be made."""

    tool: str
    server: str | None
    """None for a tool of the product's own, and for what a node does itself."""
    arguments: Mapping[str, JsonValue]
    """As they are shown."""
    hash: str
    """What an approval is bound to: another tool, or one other argument, has another hash."""
    kind: CallKind

    @classmethod
    def of(
        cls,
        tool: str,
        server: str | None,
        arguments: Mapping[str, JsonValue],
        *,
        kind: CallKind = "tool",
        unshown: JsonValue = None,
    ) -> CallAsked:
        """Return a call with its hash. `unshown` is bound too, and kept nowhere: what carries secrets."""
        said = canonical([server, tool, dict(arguments), *([] if unshown is None else [unshown])])
        return cls(tool, server, arguments, hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest(), kind)

    @property
    def name(self) -> str:
        return qualified_name(self.server, self.tool)


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that is asked: of an agent a question, of a form a field, of an approval the call."""

    id: str
    text: str
    choices: tuple[str, ...] = ()
    """To choose from; a person may also answer in words of their own."""
    multi: bool = False
    """Whether several choices may be taken."""
    variable: Variable | None = None
    """Of a form's field: what its value must be."""
    call: CallAsked | None = None
    """Of an approval: what is to be done. Its value is a note that a person may add."""


@dataclass(frozen=True, slots=True)
class Action:
    """A way to answer a form, or an approval."""

    id: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a node wants to know from a person, and what it needs in order to go on with the answer."""

    kind: PauseKind
    questions: Sequence[Question]
    prompt: str = ""
    """What stands above the questions."""
    actions: Sequence[Action] = ()
    state: JsonValue = None
    """The asking node's own, in a form that carries its version."""
    on_timeout: OnTimeout | None = None
    timeout_seconds: float | None = None
    """None waits for ever."""

    @classmethod
    def waiting_for(cls, run_ids: Sequence[RunId]) -> Ask:
        """Return what stands for a node whose sub-runs wait for people."""
        return cls(SUB_RUN, (), state=list(run_ids))

    @property
    def waits_for(self) -> Sequence[RunId]:
        """The PAUSED sub-runs that the node waits for; empty where it asks something itself."""
        return cast("Sequence[RunId]", self.state) if self.kind == SUB_RUN else ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person said: question to value, and the action that was taken."""

    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    action: str | None = None

    def same_as(self, other: Reply) -> bool:
        mine, theirs = (canonical([dict(reply.values), reply.action]) for reply in (self, other))
        return mine == theirs

    def on_wire(self) -> list[JsonValue]:
        return [{"questionId": question_id, "value": value} for question_id, value in self.values.items()]


@dataclass(frozen=True, slots=True)
class Pause:
    pause_id: str
    node_id: NodeId
    visit_id: VisitId | None
    ask: Ask
    created_at: datetime
    expires_at: datetime | None = None
    status: PauseStatus = PauseStatus.OPEN
    reply: Reply | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the node that asked can go on."""
        return self.status in (PauseStatus.ANSWERED, PauseStatus.EXPIRED)


# On the wire, and in rows.


def question_on_wire(question: Question) -> dict[str, JsonValue]:
    wire: dict[str, JsonValue] = {"id": question.id, "text": question.text}
    if question.choices:
        wire["choices"] = list(question.choices)
    if question.multi:
        wire["multi"] = True
    if question.variable is not None:
        wire["schema"] = _variable_on_wire(question.variable)
    call = question.call
    if call is not None:
        wire |= _call_on_wire(call)
    return wire


def actions_on_wire(ask: Ask) -> list[JsonValue]:
    return [{"id": action.id, "label": action.label or action.id} for action in ask.actions]


def read_question(wire: Mapping[str, JsonValue]) -> Question:
    """Read what `question_on_wire` wrote. Raises KeyError or TypeError where it did not."""
    schema = cast("Mapping[str, JsonValue] | None", wire.get("schema"))
    return Question(
        id=cast("str", wire["id"]),
        text=cast("str", wire["text"]),
        choices=tuple(cast("Sequence[str]", wire.get("choices", ()))),
        multi=wire.get("multi") is True,
        variable=None if schema is None else _read_variable(schema),
        call=_read_call(wire) if "tool" in wire else None,
    )


def read_values(wire: JsonValue) -> dict[str, JsonValue]:
    """Read what `Reply.on_wire` wrote."""
    items = cast("Sequence[Mapping[str, JsonValue]]", wire)
    return {cast("str", item["questionId"]): item["value"] for item in items}


def _call_on_wire(call: CallAsked) -> dict[str, JsonValue]:
    return {
        "callKind": call.kind,
        "tool": call.tool,
        "server": call.server,
        "arguments": dict(call.arguments),
        "hash": call.hash,
    }


def _read_call(wire: Mapping[str, JsonValue]) -> CallAsked:
    arguments = cast("Mapping[str, JsonValue]", wire["arguments"])
    tool, server = cast("str", wire["tool"]), cast("str | None", wire["server"])
    kind = cast("CallKind", wire.get("callKind", "tool"))  # questions that were stored without one keep their text
    return CallAsked(tool, server, arguments, cast("str", wire["hash"]), kind)


def _variable_on_wire(variable: Variable) -> dict[str, JsonValue]:
    return {
        "name": variable.name,
        "label": variable.label,
        "type": variable.type,
        "description": variable.description,
        "required": variable.required,
        "default": variable.default,
        "options": list(variable.options),
    }


def _read_variable(wire: Mapping[str, JsonValue]) -> Variable:
    return Variable(
        name=cast("str", wire["name"]),
        label=cast("str", wire["label"]),
        type=cast("str", wire["type"]),
        description=cast("str", wire["description"]),
        required=wire["required"] is True,
        default=wire["default"],
        options=tuple(cast("Sequence[JsonValue]", wire["options"])),
    )
