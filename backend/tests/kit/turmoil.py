"""One process after another on one database, whose model calls wait until they are let go: for tests in random order.

A death is played by cutting every task of a process where it waits, and going on with a new one that shares the tables and
nothing else. What a real kill can hit inside a transaction is the matter of the failpoints.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.dispatch.local import LocalDispatcher
from flyback.domain.answering import Given
from flyback.domain.errors import FlybackError
from flyback.domain.run import RunId
from flyback.engine.log import RunState
from flyback.engine.ports import CallSite
from flyback.providers.scripted import MemoryJournal
from flyback.services.run_stream import RunStreams
from flyback.services.run_views import RunViews
from flyback.storage import tables as t
from flyback.storage.database import Database
from flyback.storage.ledger import Ledger
from kit.checker import faults
from kit.durable import Workshop, new_run

_TERMINAL = {"workflow_complete", "workflow_error", "run_cancelled"}


class Gate:
    """Where calls wait."""

    def __init__(self) -> None:
        self.waiting: list[tuple[RunId, asyncio.Future[None]]] = []
        self.is_open = False

    async def __call__(self, site: CallSite) -> None:
        if self.is_open:
            return
        place = (site.run_id, asyncio.get_running_loop().create_future())
        self.waiting.append(place)
        try:
            await place[1]
        finally:
            self.waiting.remove(place)

    def let_go(self, number: int) -> None:
        """Let one of the waiting calls go on."""
        waiting = [future for _, future in self.waiting if not future.done()]
        if waiting:
            waiting[number % len(waiting)].set_result(None)

    def open(self) -> None:
        self.is_open = True
        for _, future in self.waiting:
            if not future.done():
                future.set_result(None)

    def holds(self, run_id: RunId) -> bool:
        return any(waiting == run_id and not future.done() for waiting, future in self.waiting)


class _WatchedLedger(Ledger):
    """A ledger that tells which runs wait until another suspect has made its step."""

    waiting: set[RunId]

    async def begin_step(self, state: RunState) -> None:
        self.waiting.add(state.run_id)
        try:
            await super().begin_step(state)
        finally:
            self.waiting.discard(state.run_id)


@dataclass(slots=True)
class Reader:
    """Somebody who follows a run over any number of connections."""

    run_id: RunId
    seen: list[int] = field(default_factory=list[int])
    types: list[str] = field(default_factory=list[str])


class Turmoil:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.runs: list[RunId] = []
        self.readers: list[Reader] = []
        self.cancelled: set[RunId] = set()
        self.deaths = 0
        self._begin()

    def _begin(self) -> None:
        """Start a process."""
        self._gate = Gate()
        self._waiting: set[RunId] = set()
        self._workshop = Workshop.on(self._database, MemoryJournal(), gate=self._gate, ledger_type=_WatchedLedger)
        assert isinstance(self._workshop.ledger, _WatchedLedger)
        self._workshop.ledger.waiting = self._waiting
        self._dispatcher = LocalDispatcher(self._workshop.engine, self._workshop.ledger)

    # What may happen.

    async def start(self, run: dict[str, JsonValue]) -> None:
        name = RunId(f"run-{len(self.runs)}")
        wanted = new_run({**run, "id": name})
        await self._database.write(lambda conn: self._workshop.ledger.accept_in(conn, wanted))
        self.runs.append(name)
        self.readers.append(Reader(name))
        await self._dispatcher.launch(name, 0)
        await self.settle()

    async def let_go(self, number: int) -> None:
        self._gate.let_go(number)
        await self.settle()

    async def answer(self, text: str, *, times: int) -> None:
        """Answer the oldest open question, several times at once."""
        asked = sa.select(t.workflow_pauses.c.id).where(t.workflow_pauses.c.status == "OPEN").limit(1)
        pause_id = await self._database.read(lambda conn: conn.execute(asked).scalar_one_or_none())
        if pause_id is not None:
            await asyncio.gather(*(self._answer(pause_id, text) for _ in range(times)))
        await self.settle()

    async def _answer(self, pause_id: str, text: str) -> None:
        try:
            given = Given(answer=text)
            settled = await self._workshop.ledger.answer(pause_id, given, owner_id="local", by="somebody")
        except FlybackError:
            return  # somebody else was faster
        if settled.segment is not None:
            await self._dispatcher.launch(settled.run_id, settled.segment)

    async def cancel(self, number: int) -> None:
        run_id = self.runs[number % len(self.runs)]
        if (await self._workshop.ledger.cancel(run_id, by="somebody")).value == "CANCELLED":
            self.cancelled.add(run_id)
        await self._dispatcher.cancel_live(run_id)
        await self.settle()

    async def kill(self) -> None:
        """Cut everything where it stands; another process takes up what is open."""
        mine = asyncio.current_task()
        while cut := [task for task in asyncio.all_tasks() if task is not mine]:
            for task in cut:
                task.cancel()
            await asyncio.wait(cut)
        self.deaths += 1
        await self._go_on()

    async def stop(self) -> None:
        """End in order, but at once; another process takes up what was handed back."""
        await self._dispatcher.stop(grace_seconds=0)
        await self._go_on()

    async def _go_on(self) -> None:
        self._begin()
        for run in await self._workshop.ledger.open_runs():
            await self._dispatcher.launch(run.run_id, run.segment)
        await self.settle()

    async def read(self, number: int, count: int) -> None:
        """Connect where a reader was, read so many of the events that are there at most, and go away."""
        reader = self.readers[number % len(self.readers)]
        ledger, hub = self._workshop.ledger, self._workshop.hub
        streams = RunStreams(ledger, hub, RunViews(self._database))
        async with aclosing(streams.follow(reader.run_id, after=len(reader.seen))) as stream:
            batch = await anext(stream)
            assert isinstance(batch, list), "the first batch holds what is there"
            for event in batch[: max(0, count)]:
                reader.seen.append(event.seq)
                reader.types.append(event.type)

    async def settle(self) -> None:
        """Wait until nothing moves: every run that is driven waits for a call, or for its turn after a death."""
        while any(map(self._moves, self._dispatcher.driven)):  # noqa: ASYNC110 -- no part tells that it waits
            await asyncio.sleep(0.001)

    def _moves(self, run: RunId) -> bool:
        return not self._gate.holds(run) and run not in self._waiting

    # What must hold.

    async def check(self) -> None:
        for run_id in self.runs:
            found = await self._database.read(lambda conn, run_id=run_id: _faults(conn, run_id))
            assert found == [], (run_id, found)
        for reader in self.readers:
            assert reader.seen == list(range(1, len(reader.seen) + 1)), reader
            assert not _TERMINAL.intersection(reader.types[:-1]), reader

    async def finish(self) -> Counter[str]:
        """Let every run come to its end, read every stream to its end, and return how the runs ended."""
        self._gate.open()
        while await self._open():
            await self.answer("this", times=1)
            for run_id in self.runs:
                await self._dispatcher.finished(run_id)
        await self.check()
        for number in range(len(self.readers)):
            await self.read(number, 10_000)
        await self.check()
        assert all(reader.types[-1] in _TERMINAL for reader in self.readers)
        return Counter(await self._database.read(_ends))

    async def _open(self) -> bool:
        r = t.workflow_runs.c
        asked = sa.select(r.id).where(r.finished_at.is_(None)).limit(1)
        return await self._database.read(lambda conn: conn.execute(asked).first() is not None)


def _ends(conn: sa.Connection) -> Sequence[str]:
    r = t.workflow_runs.c
    return [row.error_code or row.status for row in conn.execute(sa.select(r.status, r.error_code))]


def _faults(conn: sa.Connection, run_id: RunId) -> list[str]:
    """What is wrong with a run, whether it has its end or not."""
    r, e = t.workflow_runs.c, t.workflow_run_events.c
    run = conn.execute(sa.select(r.id, r.status, r.last_event).where(r.run_uuid == run_id)).one()
    if run.status in {"SUCCESS", "FAILED", "CANCELLED"}:
        return faults(conn, run_id)
    told = conn.execute(sa.select(e.seq, e.type).where(e.run_id == run.id).order_by(e.seq)).all()
    found: list[str] = []
    if [row.seq for row in told] != list(range(1, run.last_event + 1)):
        found.append(f"the numbers of the events have gaps: {[row.seq for row in told]}")
    if _TERMINAL.intersection(row.type for row in told):
        found.append(f"a run that is {run.status} has a terminal event")
    return found
