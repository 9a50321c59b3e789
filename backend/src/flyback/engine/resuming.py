"""How a node's work goes on after a pause or a death: what it kept, what a person said, and which call was being made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from pydantic import JsonValue

from flyback.domain.errors import StateCorruptError
from flyback.domain.graph import NodeId
from flyback.domain.pause import Ask, Pause, PauseStatus, Reply
from flyback.domain.run import VisitId
from flyback.domain.value import value_type
from flyback.engine.approval import Approval
from flyback.engine.log import Begun, Journal

_VERSION = 1


@value_type
class Resumed:
    """Where a node's work goes on."""

    state: JsonValue
    """What the node kept, or gave with its question: its own form."""
    reply: Reply | None = None
    """What a person said to it; None where nobody did."""
    expired: bool = False
    """Whether nobody answered in time."""
    approval: Approval | None = None
    """What a person said of the tool call that the work stands before."""
    begun: Begun | None = None
    """The tool call that was being made: it may have been made."""

    @classmethod
    def after(cls, pause: Pause) -> Resumed:
        """Return how the node goes on whose question was answered or has expired."""
        if pause.ask.kind == "approval":
            state = cast("Mapping[str, JsonValue]", pause.ask.state)
            return cls(state["work"], approval=Approval.of(pause), begun=Begun.read(state["begun"]))
        return cls(pause.ask.state, pause.reply, expired=pause.status is PauseStatus.EXPIRED)

    @classmethod
    def read(cls, journal: Journal) -> Resumed:
        """Raises StateCorruptError: it is in no form that this program knows."""
        wire = journal.state
        if not isinstance(wire, dict) or wire.get("v") != _VERSION:
            raise StateCorruptError(
                f"what node {journal.node_id!r} kept of its work cannot be read", fix="Start the run again."
            )
        reply = cast("Mapping[str, JsonValue] | None", wire["reply"])
        said = (
            None if reply is None else Reply(cast("Mapping[str, JsonValue]", reply["values"]), _text(reply["action"]))
        )
        approval = cast("Mapping[str, JsonValue] | None", wire.get("approval"))
        return cls(
            wire["state"],
            said,
            expired=wire["expired"] is True,
            approval=None if approval is None else Approval.read(approval),
            begun=Begun.read(wire.get("begun")),
        )

    def journal(self, node_id: NodeId, visit_id: VisitId | None) -> Journal:
        reply = self.reply
        said: JsonValue = None if reply is None else {"values": dict(reply.values), "action": reply.action}
        kept: dict[str, JsonValue] = {"v": _VERSION, "state": self.state, "reply": said, "expired": self.expired}
        if self.approval is not None:
            kept["approval"] = self.approval.on_wire()
        if self.begun is not None:
            kept["begun"] = self.begun.on_wire()
        return Journal(node_id, visit_id, kept)


def asked_at(ask: Ask, resumed: Resumed | None) -> Ask:
    """Return the question whether a call may be made, with the work that goes on after it."""
    assert isinstance(ask.state, dict), "an approval names its call"
    begun = resumed.begun.on_wire() if resumed is not None and resumed.begun is not None else None
    return replace(ask, state={**ask.state, "work": resumed.state if resumed is not None else None, "begun": begun})


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
