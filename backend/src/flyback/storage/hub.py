"""Who watches which run, in this process: woken when a run has new events, and handed the text that is forming.

Durable events are read from the table, so a wake-up carries nothing and several of them are one. Live text is not stored:
the text so far of each node and planner is kept here while it forms, and stands at the start of every new subscription.
A subscriber that falls behind is closed and can come back; an idle one is an entry in a set and leaves no task behind.

What runs of this process say leaves by here alone, for readers here and for those of other processes: it passes the
redaction on the way, and what may be the beginning of a secret waits for the next piece.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Protocol

from flyback.domain.events import LiveText
from flyback.domain.redaction import Redacted, Redactor
from flyback.domain.run import RunId
from flyback.engine.log import Commit
from flyback.engine.ports import LiveSink

_QUEUE_LIMIT = 1_000
_LAST_PIECES = 64
"""Pieces of a text that are kept apart before they are joined."""

_OPEN = frozenset({"PENDING", "RUNNING", "PAUSED"})
TextKey = tuple[str, str]
"""Source, and the visit or (in DAG mode) the node."""


class Elsewhere(Protocol):
    """The other processes, where there are any: told of what happens here. Never blocks and never fails."""

    def said(self, text: LiveText) -> None:
        """A run that is driven here said something."""
        ...

    def moved(self, run_id: RunId, settled: Collection[TextKey] | None) -> None:
        """A run has new events, and these of its texts are not forming any more; None: no text of it is."""
        ...

    def watched(self, run_id: RunId) -> None:
        """A run has its first reader here."""
        ...


@dataclass(frozen=True, slots=True)
class Woken:
    """There may be new events in the table."""


@dataclass(slots=True)
class _Text:
    latest: LiveText
    pieces: list[str]
    comes_from_elsewhere: bool

    def add(self, text: LiveText) -> None:
        if text.whole:
            self.pieces.clear()
        self.pieces.append(text.text)
        if len(self.pieces) > _LAST_PIECES:
            self.pieces[:] = ["".join(self.pieces)]
        self.latest = text

    def so_far(self) -> LiveText:
        return replace(self.latest, text="".join(self.pieces), whole=True)


@dataclass(slots=True)
class _Run:
    subscribers: set[Subscription] = field(default_factory=lambda: set[Subscription]())
    texts: dict[TextKey, _Text] = field(default_factory=dict[TextKey, _Text])
    redacted: dict[TextKey, Redacted] = field(default_factory=dict[TextKey, Redacted])
    """Of the texts that form here."""


class Subscription:
    """One reader of one run. Use it as a context, or close it."""

    def __init__(self, hub: Hub, run_id: RunId, texts: Iterable[LiveText]) -> None:
        self.run_id = run_id
        self._hub = hub
        self._waiting: deque[Woken | LiveText] = deque(texts)
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the reader was cut off: it fell behind, or the hub shuts down."""
        return self._closed

    async def next(self) -> Woken | LiveText | None:
        """Return what comes next; None when the subscription is closed."""
        if not self._waiting and not self._closed:
            await self._wait()
        return self._waiting.popleft() if self._waiting else None

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def close(self) -> None:
        self._closed = True
        self._hub.leave(self)
        self._release()

    def wake(self) -> None:
        if self._waiting and isinstance(self._waiting[-1], Woken):
            return
        self._put(Woken())

    def hand(self, text: LiveText) -> None:
        self._put(text)

    def _put(self, item: Woken | LiveText) -> None:
        if len(self._waiting) >= _QUEUE_LIMIT:
            self._waiting.clear()
            self.close()
            return
        self._waiting.append(item)
        self._release()

    def _release(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()


class Hub(LiveSink):
    """All calls belong to the one event loop of the process. What `redactor` knows is shown to nobody."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._runs: defaultdict[RunId, _Run] = defaultdict(_Run)
        self._elsewhere: Elsewhere | None = None

    def tell(self, elsewhere: Elsewhere | None) -> None:
        """From now on, tell the other processes."""
        self._elsewhere = elsewhere

    def subscribe(self, run_id: RunId) -> Subscription:
        """Begin to watch a run. The texts that are forming come first, each whole; then whatever happens."""
        run = self._runs[run_id]
        subscription = Subscription(self, run_id, self.texts_of(run_id))
        run.subscribers.add(subscription)
        if self._elsewhere is not None and len(run.subscribers) == 1:
            self._elsewhere.watched(run_id)
        return subscription

    def texts_of(self, run_id: RunId) -> Sequence[LiveText]:
        """Return the texts of a run that are forming, each whole."""
        run = self._runs.get(run_id)
        return [] if run is None else [text.so_far() for text in run.texts.values()]

    def leave(self, subscription: Subscription) -> None:
        run = self._runs.get(subscription.run_id)
        if run is not None:
            run.subscribers.discard(subscription)
            if not run.subscribers:
                _forget_foreign(run)
            self._forget_idle(subscription.run_id, run)

    @property
    def watched(self) -> frozenset[RunId]:
        """The runs that somebody watches."""
        return frozenset(run_id for run_id, run in self._runs.items() if run.subscribers)

    @property
    def subscriber_count(self) -> int:
        return sum(len(run.subscribers) for run in self._runs.values())

    def wake(self, run_id: RunId) -> None:
        """Say that a run may have new events."""
        run = self._runs.get(run_id)
        if run is not None:
            for subscription in tuple(run.subscribers):
                subscription.wake()

    def changed(self, run_id: RunId) -> None:
        """Say here and elsewhere that a run has new events."""
        self._tell_moved(run_id, ())
        self.wake(run_id)

    def publish(self, text: LiveText) -> None:
        run, key = self._runs[text.run_id], _key(text)
        if text.whole or key not in run.redacted:
            run.redacted[key] = self._redactor.stream()
        shown = replace(text, text=run.redacted[key].add(text.text))
        if not shown.text and not shown.whole:
            return
        _hand(run, shown)
        if self._elsewhere is not None:
            self._elsewhere.said(shown)

    def hear(self, text: LiveText) -> None:
        """Take what a run said that is driven elsewhere, as long as somebody reads it here."""
        run = self._runs.get(text.run_id)
        if run is not None and run.subscribers:
            _hand(run, text, comes_from_elsewhere=True)

    def committed(self, commit: Commit) -> None:
        """Drop the texts that a commit has made durable, and wake the run's readers."""
        settled = _settled(commit)
        self._tell_moved(commit.run_id, settled)
        self.settle(commit.run_id, settled)

    def ended(self, run_id: RunId) -> None:
        """Drop every text of a run that this process does not drive any more."""
        self._tell_moved(run_id, None)
        self.settle(run_id, None)

    def settle(self, run_id: RunId, texts: Collection[TextKey] | None) -> None:
        """Drop these texts, or all, and wake the run's readers here."""
        run = self._runs.get(run_id)
        if run is None:
            return
        for key in (*run.texts, *run.redacted) if texts is None else texts:
            run.texts.pop(key, None)
            run.redacted.pop(key, None)
        self.wake(run_id)
        self._forget_idle(run_id, run)

    def close(self) -> None:
        """Cut off every reader: the process is about to stop."""
        for run in tuple(self._runs.values()):
            for subscription in tuple(run.subscribers):
                subscription.close()

    def _tell_moved(self, run_id: RunId, settled: Collection[TextKey] | None) -> None:
        if self._elsewhere is not None:
            self._elsewhere.moved(run_id, settled)

    def _forget_idle(self, run_id: RunId, run: _Run) -> None:
        if not run.subscribers and not run.texts and not run.redacted:  # which may hold a secret's beginning
            self._runs.pop(run_id, None)


def _hand(run: _Run, text: LiveText, *, comes_from_elsewhere: bool = False) -> None:
    key = _key(text)
    known = run.texts.get(key)
    if known is None:
        run.texts[key] = _Text(text, [text.text], comes_from_elsewhere)
    else:
        known.add(text)
    for subscription in tuple(run.subscribers):
        subscription.hand(text)


def _key(text: LiveText) -> TextKey:
    return (text.source, text.visit_id or text.node_id)


def _forget_foreign(run: _Run) -> None:
    """Drop what nobody keeps up to date here from now on."""
    for key in [key for key, text in run.texts.items() if text.comes_from_elsewhere]:
        del run.texts[key]


def _settled(commit: Commit) -> Collection[TextKey] | None:
    """Return the texts that a commit has made durable; None where it ends the run."""
    if commit.end is not None:
        return None
    settled: list[TextKey] = [("node", node.node_id) for node in commit.nodes if node.status not in _OPEN]
    if commit.visit is not None and commit.visit.status not in _OPEN:
        settled.append(("node", commit.visit.visit_id))
    if commit.decided is not None:
        settled.append(("planner", commit.decided.visit_id))
    return settled
