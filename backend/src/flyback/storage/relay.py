"""Carries live text and wake-ups between the processes that share one PostgreSQL.

Who has readers of a run says so, again and again; who drives it then sends what it says, and nothing is sent of a run that
nobody watches elsewhere. What is sent may be lost: durable events are read from the table in any case, and a text that
lost a piece is sent again as a whole. A message is at most some kilobytes, so that a long text goes in several.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from flyback.domain.errors import StorageBusyError, StorageFullError
from flyback.domain.events import LiveText
from flyback.domain.run import RunId
from flyback.storage.database import Database
from flyback.storage.hub import Elsewhere, Hub, TextKey

if TYPE_CHECKING:  # loaded only where PostgreSQL is used
    from psycopg import AsyncConnection

CHANNEL = "flyback_live"
_PIECE = 1_200
"""Characters in one message: with the longest escapes they stay under PostgreSQL's 8,000 bytes."""
_RUNS_IN_ONE = 150
_AT_ONCE = 200
"""Messages in one statement."""
_MOST_WAITING = 2_000
_GATHER_SECONDS = 0.02
_SAY_AGAIN_SECONDS = 5.0
_WANTED_SECONDS = 16.0
"""How long a run counts as watched elsewhere after somebody said so."""
_PROBE_SECONDS = 15.0
_WAIT_SECONDS = 1.0

_log = logging.getLogger(__name__)

_Message = Mapping[str, Any]
"""`{by, n, kind, …}`, made and read in this module alone."""
_Kind = Literal["watch", "text", "moved"]


class Relay(Elsewhere):
    """Start it after the database and stop it before. `worker_id` tells its own messages from those of others."""

    def __init__(self, database: Database, hub: Hub, *, worker_id: str) -> None:
        self._database = database
        self._hub = hub
        self._worker_id = worker_id
        self._numbers = count(1)
        self._waiting: deque[str] = deque()
        self._something = asyncio.Event()
        self._wanted: dict[RunId, float] = {}
        """Runs that are watched elsewhere, and until when, by the loop's clock."""
        self._lost_some = False
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._hub.tell(self)
        parts = (self._listen(), self._send(), self._say_again())
        self._tasks = [asyncio.create_task(part, name="live text of other processes") for part in parts]

    async def stop(self) -> None:
        self._hub.tell(None)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # What happens here, for the others.

    def said(self, text: LiveText) -> None:
        if not self._is_wanted(text.run_id):
            return
        for piece in _pieces(text):
            self._put("text", text=_text_json(piece))

    def moved(self, run_id: RunId, settled: Collection[TextKey] | None) -> None:
        if self._is_wanted(run_id):
            self._put("moved", run=run_id, settled=None if settled is None else [list(key) for key in settled])

    def watched(self, run_id: RunId) -> None:
        self._say_watched([run_id], fresh=True)

    # Sending.

    def _say_watched(self, run_ids: Sequence[RunId], *, fresh: bool) -> None:
        for start in range(0, len(run_ids), _RUNS_IN_ONE):
            self._put("watch", runs=run_ids[start : start + _RUNS_IN_ONE], fresh=fresh)

    def _say_all(self) -> None:
        """Say again what may be lost: what is watched here, and the texts that others watch, who may have asked unheard."""
        self._say_watched(sorted(self._hub.watched), fresh=True)
        for run_id in tuple(self._wanted):
            self._send_whole(run_id)

    def _put(self, kind: _Kind, **parts: object) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting.clear()
            self._lost_some = True
        # The number also keeps PostgreSQL from taking two equal messages of one transaction for one.
        message = {"by": self._worker_id, "n": next(self._numbers), "kind": kind, **parts}
        self._waiting.append(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
        self._something.set()

    async def _send(self) -> None:
        while True:
            await self._something.wait()
            if self._lost_some:
                self._lost_some = False
                self._say_all()
            batch = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
            if not self._waiting:
                self._something.clear()
            try:
                await self._notify(batch)
            except (StorageBusyError, StorageFullError):
                # How long it lasts is told by whoever has to store something.
                self._lost_some = True
                self._something.set()
                await asyncio.sleep(_WAIT_SECONDS)
            await asyncio.sleep(_GATHER_SECONDS)

    async def _notify(self, batch: Sequence[str]) -> None:
        statement = "SELECT pg_notify(%s, message) FROM unnest(%s::text[]) AS message"
        with self._database.naming_trouble():
            async with self._database.pool.connection() as connection:
                await connection.execute(statement, (CHANNEL, list(batch)))

    async def _say_again(self) -> None:
        while True:
            await asyncio.sleep(_SAY_AGAIN_SECONDS)
            self._say_watched(sorted(self._hub.watched), fresh=False)
            now = asyncio.get_running_loop().time()
            self._wanted = {run_id: until for run_id, until in self._wanted.items() if until > now}

    def _is_wanted(self, run_id: RunId) -> bool:
        until = self._wanted.get(run_id)
        return until is not None and until > asyncio.get_running_loop().time()

    def _send_whole(self, run_id: RunId) -> None:
        for text in self._hub.texts_of(run_id):
            self.said(text)

    # Listening.

    async def _listen(self) -> None:
        while True:
            try:
                with self._database.naming_trouble():
                    await self._listen_on(await self._database.lone_connection())
            except (StorageBusyError, StorageFullError) as trouble:
                _log.warning("Live text of other processes does not come for the moment: %s", trouble.message)
            await asyncio.sleep(_WAIT_SECONDS)

    async def _listen_on(self, connection: AsyncConnection) -> None:
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self._say_all()
            while True:
                async for notification in connection.notifies(timeout=_PROBE_SECONDS):
                    self._take_text(notification.payload)
                # A connection that broke without a word is noticed by asking.
                await connection.execute("SELECT 1")

    def _take_text(self, payload: str) -> None:
        try:
            self._take(json.loads(payload))
        except (ValueError, KeyError, TypeError):
            _log.warning("Somebody else speaks on the channel %r, or another version of this program.", CHANNEL)

    def _take(self, message: _Message) -> None:
        if message["by"] == self._worker_id:
            return
        kind: _Kind = message["kind"]
        match kind:
            case "watch":
                until = asyncio.get_running_loop().time() + _WANTED_SECONDS
                for run in message["runs"]:
                    run_id = RunId(run)
                    is_new = not self._is_wanted(run_id)
                    self._wanted[run_id] = until
                    if message["fresh"] or is_new:
                        self._send_whole(run_id)
            case "text":
                self._hub.hear(_text_of(message["text"]))
            case "moved":
                settled = message["settled"]
                keys = None if settled is None else [(source, place) for source, place in settled]
                self._hub.settle(RunId(message["run"]), keys)


def _pieces(text: LiveText) -> Iterator[LiveText]:
    yield replace(text, text=text.text[:_PIECE])
    for start in range(_PIECE, len(text.text), _PIECE):
        yield replace(text, text=text.text[start : start + _PIECE], whole=False)


def _text_json(text: LiveText) -> _Message:
    return {
        "run": text.run_id,
        "source": text.source,
        "node": text.node_id,
        "visit": text.visit_id,
        "attempt": text.attempt,
        "text": text.text,
        "whole": text.whole,
    }


def _text_of(message: _Message) -> LiveText:
    return LiveText(
        run_id=RunId(message["run"]),
        source=message["source"],
        node_id=message["node"],
        visit_id=message["visit"],
        attempt=message["attempt"],
        text=message["text"],
        whole=message["whole"],
    )
