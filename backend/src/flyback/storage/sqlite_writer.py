"""The one writer of a SQLite database: a thread with one connection that commits in groups.

Whatever waits when the thread is free becomes one transaction, each member in a savepoint of its own, so that full sync
is paid once a group and a member that fails takes nothing of the others with it. Answers are given after COMMIT. When the
transaction itself is lost (locked, full, no I/O), every member gets the trouble, and nothing of the group was stored.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import sqlalchemy as sa

from flyback.storage.trouble import trouble_of

T = TypeVar("T")
OnCommit = Callable[[int, float], None]
"""Told of each transaction that is on disk: how many pieces of work, and seconds. From whatever thread wrote it."""


def nobody_watches(_members: int, _seconds: float) -> None:
    """For a database whose commits nobody counts."""


_GATHER_SECONDS = 0.001
"""How long a group waits for others where the one before had several: each transaction writes the same pages again."""
_GROUP = 256
"""Members of one group at most, so that the first of them does not wait for ever."""


@dataclass(slots=True)
class _Member:
    work: Callable[[], object]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    """Of what the work returns."""
    result: object = None
    error: BaseException | None = None


class SqliteWriter:
    """Runs pieces of work on the one writing connection. `engine` must hold one connection without its own BEGIN."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.on_commit: OnCommit = nobody_watches
        self._waiting: SimpleQueue[_Member | None] = SimpleQueue()
        self._connection: sa.Connection
        self._raw: sqlite3.Connection
        self._thread = threading.Thread(target=self._work, name="flyback-writer", daemon=True)
        self._opened = threading.Event()
        self._failure: BaseException | None = None

    def open(self) -> None:
        """Start the thread and connect. Raises what connecting raised."""
        self._thread.start()
        self._opened.wait()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Finish what waits, then end the thread."""
        self._waiting.put(None)
        self._thread.join()

    async def write(self, work: Callable[[sa.Connection], T]) -> T:
        return await self._submit(lambda: work(self._connection))

    async def write_raw(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The same without SQLAlchemy: for the few statements that every step of a run makes."""
        return await self._submit(lambda: work(self._raw))

    async def _submit(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.put(_Member(work, loop, future))
        return await future

    # In the thread.

    def _work(self) -> None:
        try:
            self._connection = self._engine.connect()
            driver = self._connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            self._raw = driver
        except BaseException as error:
            self._failure = error
            return
        finally:
            self._opened.set()
        group: list[_Member] = []
        while (first := self._waiting.get()) is not None:
            if len(group) > 1:
                time.sleep(_GATHER_SECONDS)
            group, ends = self._group(first)
            self._commit(group)
            _answer(group)
            if ends:
                break
        self._connection.close()
        self._engine.dispose()

    def _group(self, first: _Member) -> tuple[list[_Member], bool]:
        group = [first]
        try:
            while len(group) < _GROUP:
                member = self._waiting.get_nowait()
                if member is None:
                    return group, True
                group.append(member)
        except Empty:
            pass
        return group, False

    def _commit(self, group: list[_Member]) -> None:
        raw, began = self._raw, time.perf_counter()
        try:
            raw.execute("BEGIN IMMEDIATE")
            if len(group) == 1:
                self._run(group[0])
                if group[0].error is not None:
                    raw.rollback()
                    return
            else:
                for member in group:
                    self._run_in_savepoint(member)
            raw.execute("COMMIT")
            self.on_commit(len(group), time.perf_counter() - began)
        except BaseException as error:
            _fail_all(group, error)
            if raw.in_transaction:
                raw.rollback()
        finally:
            # SQLAlchemy begins a transaction of its own accord; this tells it that the transaction is over.
            if self._connection.in_transaction():
                self._connection.rollback()

    def _run_in_savepoint(self, member: _Member) -> None:
        raw = self._raw
        raw.execute("SAVEPOINT member")
        self._run(member)
        if member.error is not None:
            # Where the fault took the whole transaction with it, this raises and the group fails.
            raw.execute("ROLLBACK TO member")
        raw.execute("RELEASE member")

    def _run(self, member: _Member) -> None:
        try:
            member.result = member.work()
        except BaseException as error:
            member.error = error


def _fail_all(group: list[_Member], error: BaseException) -> None:
    lost = next((found for m in group if m.error is not None and (found := trouble_of(m.error))), None)
    shared = lost or trouble_of(error) or error
    for member in group:
        member.error = shared


def _answer(group: list[_Member]) -> None:
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[_Member]] = defaultdict(list)
    for member in group:
        by_loop[member.loop].append(member)
    for loop, members in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, members)


def _settle(members: list[_Member]) -> None:
    for member in members:
        if member.future.done():
            continue  # who asked was cancelled; the work was done all the same
        if member.error is None:
            member.future.set_result(member.result)
        else:
            member.future.set_exception(trouble_of(member.error) or member.error)
