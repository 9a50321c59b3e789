"""Readers of a run: what comes to them, and what they cost while nothing comes."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy.engine
import sqlalchemy.event

from flyback.domain.run import Mode, RunId
from flyback.services.run_stream import RunStreams
from flyback.services.run_views import RunViews
from flyback.storage.event_poll import EventPoll
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger
from kit import ledgers
from kit.clock import HandClock
from kit.databases import BOTH, new_url, opened
from kit.ledgers import InDatabase, visit

RUN = RunId("run-1")
READERS = 20


@pytest.mark.parametrize("kind", BOTH)
async def test_given_many_readers_of_a_run_that_rests_then_one_look_serves_all_and_an_event_reaches_each(
    kind: str, tmp_path: Path
) -> None:
    async with opened(new_url(kind, tmp_path)) as database:
        hub, clock = Hub(), HandClock()
        mine = InDatabase(Ledger(database, hub, clock=clock, worker_id="me"), clock)
        await mine.accept(RUN, Mode.AGENTIC)
        state = await mine.log.take_over(RUN, 0)
        assert state is not None
        # given readers who have seen all there is, and a poll that knows it
        streams, poll = (
            RunStreams(Ledger(database, hub, clock=clock, worker_id="me"), hub, RunViews(database)),
            EventPoll(database, hub),
        )
        seen: list[list[int]] = [[] for _ in range(READERS)]
        readers = [asyncio.create_task(_follow(streams, each)) for each in seen]
        await _until_all_have(seen, 1)
        await poll.look()
        await asyncio.sleep(0.2)
        # when nothing happens for longer than a second, then the database is asked once, by the poll
        with _statements() as asked:
            await asyncio.sleep(1.5)
            await poll.look()
        assert len(asked) == 1, asked
        # when something happens, then each reader has it, once
        await mine.log.commit(ledgers.begin(state, visit(0, "ask")))
        await _until_all_have(seen, 2)
        assert all(each == list(range(1, len(each) + 1)) for each in seen)
        hub.close()
        await asyncio.gather(*readers)


async def test_given_a_position_at_the_end_of_a_run_that_is_over_then_the_stream_ends_at_once(tmp_path: Path) -> None:
    async with opened(new_url("sqlite", tmp_path)) as database:
        clock = HandClock()
        mine = InDatabase(Ledger(database, Hub(), clock=clock, worker_id="me"), clock)
        await mine.accept(RUN, Mode.AGENTIC)
        await mine.cancel(RUN)
        streams = RunStreams(mine.ledger, Hub(), RunViews(database))
        last = len(await mine.events(RUN))
        async with asyncio.timeout(5):
            assert [batch async for batch in streams.follow(RUN, after=last)] == [[]]


async def _follow(streams: RunStreams, seen: list[int]) -> None:
    async with aclosing(streams.follow(RUN)) as stream:
        async for batch in stream:
            assert isinstance(batch, list)
            seen.extend(event.seq for event in batch)


async def _until_all_have(seen: list[list[int]], count: int) -> None:
    async with asyncio.timeout(10):
        while any(len(each) < count for each in seen):  # noqa: ASYNC110 -- no part tells what readers have
            await asyncio.sleep(0.01)


@contextmanager
def _statements() -> Generator[list[str]]:
    asked: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.lstrip().upper().startswith("SELECT"):
            asked.append(statement)

    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        sqlalchemy.event.remove(sqlalchemy.engine.Engine, "before_cursor_execute", note)
