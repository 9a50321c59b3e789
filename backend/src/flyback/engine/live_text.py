"""Text that is forming, on its way to whoever watches.

Pieces are gathered for a moment, so that a fast model does not send an event a token. Before the first piece stands an
empty snapshot: a new attempt, a start repeated after a crash and a second try of the planner begin from nothing. What a
model says before its visit is committed can be held back and released afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from flyback.domain.events import LiveText
from flyback.domain.graph import NodeId
from flyback.domain.run import RunId, VisitId
from flyback.engine.log import CallRole
from flyback.engine.ports import LiveSink

_GATHER_SECONDS = 0.03


@dataclass(frozen=True, slots=True)
class Instead:
    """Text that replaces what was shown so far."""

    text: str


Shown = Callable[[str], str | Instead]
"""Called with each piece of an answer as it comes; returns what of it people are shown."""


def as_is(piece: str) -> str:
    """Show the answer itself."""
    return piece


class LiveWriter:
    """The text of one attempt."""

    def __init__(
        self,
        sink: LiveSink,
        run_id: RunId,
        node_id: NodeId,
        visit_id: VisitId | None,
        source: CallRole,
        attempt: int,
        *,
        held: bool = False,
    ) -> None:
        self._sink = sink
        self._run_id = run_id
        self._node_id = node_id
        self._visit_id = visit_id
        self._source = source
        self._attempt = attempt
        self._held = held
        self._begun = False
        self._replace = False
        self._pieces: list[str] = []
        self._last_sent = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Replace what was shown before by nothing, once."""
        if self._begun:
            return
        self._begun = True
        if not self._held:
            self._publish("", whole=True)

    def write(self, shown: str | Instead) -> None:
        if isinstance(shown, Instead):
            self._pieces.clear()
            self._replace = True
            shown = shown.text
        elif not shown:
            return
        self._pieces.append(shown)
        if self._held or self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        wait = self._last_sent + _GATHER_SECONDS - loop.time()
        if wait <= 0:
            self.flush()
        else:
            self._timer = loop.call_later(wait, self.flush)

    def flush(self) -> None:
        """Hand on what was gathered."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held or not self._pieces:
            return
        text = "".join(self._pieces)
        self._pieces.clear()
        self._last_sent = asyncio.get_running_loop().time()
        whole, self._replace = self._replace, False
        self._publish(text, whole=whole)

    def release(self) -> None:
        """Hand on what was held back, and from now on everything."""
        if not self._held:
            return
        self._held = False
        if self._begun:
            self._publish("", whole=True)
            self.flush()

    def _publish(self, text: str, *, whole: bool) -> None:
        self._sink.publish(
            LiveText(self._run_id, self._source, self._node_id, self._visit_id, self._attempt, text, whole)
        )
