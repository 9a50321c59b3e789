"""The script that a scripted model plays: for each node, and for the planner, its replies in order.

A script is written by hand, in a graph file or in a model entry, so what is wrong with it is said part by part. A reply
is asked for by its place: how many calls the run has recorded for that node or for the planner, so that a crash repeats
a reply and never skips one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from flyback.domain.errors import Fault, InvalidError

_FORMS = ("text", "textEscaped", "branch", "next", "tool", "echoLastAnswer", "httpError", "hang", "stream")
_FIX = "A script is a list of {for: {node: <id>} or {role: 'planner'}, replies: [reply, …], repeatLast?: true}."
_REPLY_FIX = f"A reply is an object with exactly one of: {', '.join(_FORMS)}."


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class ToolCall(_Part):
    name: str
    args: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class Reply(_Part):
    """One answer, in exactly one form."""

    text: str | None = None
    text_escaped: str | None = Field(
        default=None, description="Text with JSON escapes: also what a JSON document may not hold."
    )
    branch: str | None = Field(default=None, description="The branch a condition takes.")
    next: str | None = Field(default=None, description="The node the planner chooses.")
    reason: str | None = Field(default=None, description="Beside `branch` or `next`.")
    tool: ToolCall | None = None
    echo_last_answer: str | None = Field(default=None, description="This text, then the last thing the person said.")
    http_error: Annotated[int, Field(ge=400, le=599)] | None = None
    retry_after: Annotated[float, Field(ge=0, le=86_400)] | None = Field(default=None, description="In seconds.")
    hang: Literal[True] | None = None
    stream: list[str] | None = None
    every_ms: Annotated[float, Field(ge=0, le=600_000)] = 0
    delay_ms: Annotated[float, Field(ge=0, le=86_400_000)] = 0
    finish_reason: str = "stop"

    @model_validator(mode="after")
    def _has_one_form(self) -> Reply:
        forms = (
            self.text,
            self.text_escaped,
            self.branch,
            self.next,
            self.tool,
            self.echo_last_answer,
            self.http_error,
            self.hang,
            self.stream,
        )
        given = [name for name, value in zip(_FORMS, forms, strict=True) if value is not None]
        if len(given) != 1:
            raise ValueError(f"a reply has exactly one form, this one has {', '.join(given) or 'none'}")
        if self.text_escaped is not None:
            _unescape(self.text_escaped)
        return self

    def pieces(self, last_answer: str) -> list[str]:
        """Return what this reply says, piece by piece; nothing for a fault or a silence."""
        if self.stream is not None:
            return self.stream
        return [self._whole(last_answer)]

    def _whole(self, last_answer: str) -> str:
        if self.text is not None:
            return self.text
        if self.text_escaped is not None:
            return _unescape(self.text_escaped)
        if self.echo_last_answer is not None:
            return self.echo_last_answer + last_answer
        if self.branch is not None:
            return _json({"branch": self.branch, "reason": self.reason or "as scripted"})
        if self.next is not None:
            return _json({"next": self.next, "reason": self.reason or "as scripted"})
        if self.tool is not None:
            return _json({"tool": self.tool.name, "args": self.tool.args})
        return ""


class _ForNode(_Part):
    node: str


class _ForPlanner(_Part):
    role: Literal["planner"]


class ScriptPart(_Part):
    """The replies for one node, or for the planner."""

    target: _ForNode | _ForPlanner = Field(alias="for")
    replies: list[Reply]
    repeat_last: bool = False

    @property
    def who(self) -> str:
        return "the planner" if isinstance(self.target, _ForPlanner) else f"node {self.target.node!r}"

    def reply_at(self, position: int) -> Reply | None:
        """Return the reply at a position, from 0; None where none is left."""
        if position < len(self.replies):
            return self.replies[position]
        return self.replies[-1] if self.repeat_last and self.replies else None


@dataclass(frozen=True, slots=True)
class Script:
    """A script that was read: at most one part for each node and one for the planner."""

    nodes: Mapping[str, ScriptPart] = field(default_factory=dict[str, ScriptPart])
    planner: ScriptPart | None = None


_PARTS = TypeAdapter(list[ScriptPart])


def read_script(value: JsonValue) -> Script:
    """Read a script. Raises InvalidError with every fault."""
    try:
        parts = _PARTS.validate_python(value)
    except ValidationError as error:
        faults = _faults(error)
        raise InvalidError(
            f"The script cannot be read: {faults[0].message}", field="script", fix=_FIX, faults=faults
        ) from None
    twice = _named_twice(parts)
    if twice:
        raise InvalidError(twice[0].message, field="script", fix=_FIX, faults=twice)
    nodes = {part.target.node: part for part in parts if isinstance(part.target, _ForNode)}
    planner = next((part for part in parts if isinstance(part.target, _ForPlanner)), None)
    return Script(nodes, planner)


def script_faults(value: JsonValue) -> list[Fault]:
    """Return what is wrong with a script; nothing when it can be played."""
    try:
        read_script(value)
    except InvalidError as error:
        return list(error.faults)
    return []


def _named_twice(parts: list[ScriptPart]) -> list[Fault]:
    seen: set[str] = set()
    faults: list[Fault] = []
    for index, part in enumerate(parts):
        if part.who in seen:
            fix = "Put all replies of one place into one part."
            faults.append(Fault(f"the script has a second part for {part.who}", field=f"script.{index}.for", fix=fix))
        seen.add(part.who)
    return faults


def _faults(error: ValidationError) -> list[Fault]:
    """One fault a place: a union that nothing fits would else tell of each of its members."""
    faults: dict[str, Fault] = {}
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        place = [str(key) for key in detail["loc"] if not str(key).startswith("_For")]
        where = ".".join(["script", *place])
        if "for" in place:
            where = ".".join(["script", *place[: place.index("for") + 1]])
            message = "'for' names a node ({node: <id>}) or the planner ({role: 'planner'})"
        else:
            message = detail["msg"].removeprefix("Value error, ")
        fix = _REPLY_FIX if "replies" in place else _FIX
        faults.setdefault(where, Fault(f"{where}: {message}", field=where, fix=fix))
    return list(faults.values())


def _json(value: dict[str, JsonValue]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _unescape(text: str) -> str:
    try:
        return cast("str", json.loads(f'"{text}"', strict=False))
    except ValueError as error:
        raise ValueError(f"textEscaped is not a JSON string without its quotes: {error}") from None
