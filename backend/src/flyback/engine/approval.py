"""Asking a person before a tool runs.

An approval is good for one call of one run, with the arguments that were shown, and for nothing else. The call is known by
its place and its number there, which a retry, a revisit and a fork do not share; what it is given by its hash. A call that a death interrupted is still the same call. Whoever calls tools asks here at the moment of
the call, so that no way through a run leads around the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from pydantic import JsonValue

from flyback.domain.errors import ToolDeniedError
from flyback.domain.pause import (
    APPROVE,
    DENY,
    Action,
    Ask,
    CallAsked,
    OnTimeout,
    Pause,
    PauseStatus,
    Question,
    qualified_name,
)
from flyback.domain.value import value_type

ALL = "*"
"""In a list of tools: all of them. Behind a server's name and two underscores: all of that server."""
NOTE = "note"
"""The question of an approval. Its value is what the person says to it."""

_FIX = "Run it again and approve the call, or let the node go another way when it fails."

Verdict = Literal["approved", "denied", "expired"]


@value_type
class Terms:
    """On what terms a node asks people."""

    approval: Sequence[str] = ()
    """The tools before which a person is asked, beside those whose server says so."""
    timeout_seconds: float | None = None
    """How long an answer is waited for; None means for ever."""
    on_timeout: OnTimeout | None = None
    """`default`: the work goes on without the answer, and nothing is approved. `fail`: the node fails."""

    def asks_before(self, tool: str, server: str | None = None) -> bool:
        """Whether the node itself wants a person to be asked before a call."""
        names = (ALL, qualified_name(server, tool), qualified_name(server, ALL))
        return any(name in self.approval for name in names)

    def and_before(self, *tools: str) -> Terms:
        """Return these terms with more tools before which a person is asked."""
        return replace(self, approval=[*self.approval, *tools])


class PersonNeededError(Exception):
    """The work cannot go on before a person was asked. It is no failure: the answer begins another turn.

    It passes through whatever does the work, which has kept how far it came.
    """

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask.prompt)
        self.ask = ask


@dataclass(frozen=True, slots=True)
class Approval:
    """What a person said of one call, or that nobody said anything in time."""

    call_id: str
    """The call's name within the run."""
    tool: str
    """The tool's qualified name."""
    hash: str
    """Of the call as it was asked about. What is stored of it may have its secrets taken out, the hash knows them."""
    verdict: Verdict
    note: str = ""

    @classmethod
    def of(cls, pause: Pause) -> Approval:
        """Return what became of the question whether a call may be made."""
        (question,) = pause.ask.questions
        assert question.call is not None, "an approval shows what is approved"
        state = cast("Mapping[str, JsonValue]", pause.ask.state)
        reply = pause.reply
        verdict: Verdict = "expired"
        if pause.status is PauseStatus.ANSWERED and reply is not None:
            verdict = "approved" if reply.action == APPROVE else "denied"
        note = "" if reply is None else str(reply.values.get(NOTE, ""))
        return cls(cast("str", state["callId"]), question.call.name, cast("str", state["hash"]), verdict, note)

    def settles(self, call_id: str, call: CallAsked) -> bool:
        """Whether it is this very call that was asked about, with these very arguments."""
        return (self.call_id, self.hash) == (call_id, call.hash)

    def refuse(self) -> None:
        """Raises ToolDeniedError where the call was not approved."""
        match self.verdict:
            case "approved":
                return
            case "denied":
                said = f": {self.note}" if self.note else ""
                raise ToolDeniedError(
                    f"the person did not approve the call of {self.tool!r}{said}", field="approval", fix=_FIX
                )
            case "expired":
                raise ToolDeniedError(f"nobody approved the call of {self.tool!r} in time", field="approval", fix=_FIX)

    def on_wire(self) -> JsonValue:
        return {
            "callId": self.call_id,
            "tool": self.tool,
            "hash": self.hash,
            "verdict": self.verdict,
            "note": self.note,
        }

    @classmethod
    def read(cls, wire: Mapping[str, JsonValue]) -> Approval:
        """Read what `on_wire` wrote."""
        said = cast("Mapping[str, str]", wire)
        return cls(said["callId"], said["tool"], said["hash"], cast("Verdict", said["verdict"]), said["note"])


def ask_for(call_id: str, call: CallAsked, terms: Terms, *, chinese: bool) -> Ask:
    """Return the question whether this call may be made."""
    text = _text(call, chinese=chinese)
    labels = ("允许", "拒绝") if chinese else ("Approve", "Deny")
    return Ask(
        "approval",
        [Question(NOTE, text, call=call)],
        actions=[Action(APPROVE, labels[0]), Action(DENY, labels[1])],
        state={"callId": call_id, "hash": call.hash},
        on_timeout=terms.on_timeout if terms.timeout_seconds is not None else None,
        timeout_seconds=terms.timeout_seconds,
    )


def _text(call: CallAsked, *, chinese: bool) -> str:
    match call.kind:
        case "http":
            return "是否允许发出此 HTTP 请求？" if chinese else "May this HTTP call be made?"
        case "code":
            return "是否允许运行此代码？" if chinese else "May this program run?"
        case "tool":
            where = "" if call.server is None else (f"（{call.server}）" if chinese else f" of {call.server}")
            return f"是否允许运行工具 {call.tool}{where}？" if chinese else f"May the tool {call.tool}{where} run?"
