"""Dispatch with the queue, in one process: direct start, waiting for a slot, cancel, recovery, tidying up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from flyback.dispatch.dbos_dispatcher import DbosDispatcher
from flyback.dispatch.queue import SegmentQueue
from flyback.domain.run import RunId
from flyback.storage import tables as t
from kit.checker import faults
from kit.databases import new_url
from kit.drawing import draw
from kit.durable import Workshop, new_run
from kit.studio import script_of
from kit.subscriptions import next_within


@asynccontextmanager
async def working(url: str, folder: Path, *, slots: int = 16) -> AsyncGenerator[tuple[Workshop, DbosDispatcher]]:
    """A process at work, as far as one process can hold several one after the other."""
    workshop = await Workshop.open(url, folder / "scripted.jsonl")
    dispatcher = DbosDispatcher(workshop.engine, workshop.ledger, workshop.database, slots=slots)
    await dispatcher.start()
    try:
        yield workshop, dispatcher
    finally:
        await dispatcher.stop(grace_seconds=5)
        await workshop.database.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_url("sqlite", tmp_path)


def _new_run(name: str, *, draft: dict[str, JsonValue]) -> dict[str, JsonValue]:
    graph = draw("ask -> draft -> answer", ask={"variables": [{"name": "topic"}]})
    return {
        "id": name,
        "mode": "AGENTIC",
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script_of(graph, ["draft", "answer"], {"draft": [draft, draft]}),
    }


async def _accept(workshop: Workshop, name: str, *, draft: dict[str, JsonValue]) -> RunId:
    run = new_run(_new_run(name, draft=draft))
    await workshop.database.write(lambda conn: workshop.ledger.accept_in(conn, run))
    return run.run_id


async def _ended(workshop: Workshop, run_ids: Sequence[RunId]) -> set[str]:
    """Wait until all these runs have their end, check them, and return their statuses."""
    for run_id in run_ids:
        with workshop.hub.subscribe(run_id) as subscription:
            while run_id in {run.run_id for run in await workshop.ledger.open_runs()}:
                await next_within(subscription, 1)
        assert await workshop.database.read(lambda conn, run_id=run_id: faults(conn, run_id)) == []
    r = t.workflow_runs.c
    asked = sa.select(r.status).where(r.run_uuid.in_(run_ids))
    return await workshop.database.read(lambda conn: set(conn.execute(asked).scalars()))


async def test_given_more_runs_than_slots_when_all_are_launched_then_the_rest_waits_in_the_queue_and_all_end(
    url: str, tmp_path: Path
) -> None:
    async with working(url, tmp_path, slots=2) as (workshop, dispatcher):
        runs = [await _accept(workshop, f"run-{n}", draft={"text": "one", "delayMs": 30}) for n in range(6)]
        await asyncio.gather(*[dispatcher.launch(run_id, 0) for run_id in runs])
        assert await _ended(workshop, runs) == {"SUCCESS"}
        assert await dispatcher.trouble() is None
    assert await dispatcher.trouble() is not None


async def test_given_a_run_that_waits_in_the_queue_when_a_slot_is_free_then_no_newer_one_is_started_before_it(
    url: str, tmp_path: Path
) -> None:
    async with working(url, tmp_path, slots=1) as (workshop, dispatcher):
        # given one that runs, and one that waits
        first, second, third = [
            await _accept(workshop, name, draft={"text": "one", "delayMs": 700})
            for name in ("first", "second", "third")
        ]
        await dispatcher.launch(first, 0)
        assert not await dispatcher.has_room()
        await dispatcher.launch(second, 0)
        # when the first has ended and another comes before anybody has looked into the queue
        await _ended(workshop, [first])
        await dispatcher.launch(third, 0)
        assert await _ended(workshop, [second, third]) == {"SUCCESS"}
        started = await workshop.database.read(_in_order_of_their_start)
        assert started == [first, second, third]
        # and when nobody waits, the next one is started at once again
        assert await dispatcher.has_room()


async def test_given_a_hanging_run_and_one_in_the_queue_when_both_are_cancelled_then_both_have_their_end(
    url: str, tmp_path: Path
) -> None:
    async with working(url, tmp_path, slots=1) as (workshop, dispatcher):
        hanging = await _accept(workshop, "hanging", draft={"hang": True})
        await dispatcher.launch(hanging, 0)
        waiting = await _accept(workshop, "waiting", draft={"text": "one"})
        await workshop.database.write(lambda conn: dispatcher.enqueue_in(conn, waiting, 0))
        async with asyncio.timeout(2):
            for run_id in (hanging, waiting):
                await workshop.ledger.cancel(run_id, by="somebody")
                await dispatcher.cancel_live(run_id)
        assert await _ended(workshop, [hanging, waiting]) == {"CANCELLED"}


async def test_given_runs_that_nobody_drives_when_a_process_starts_then_it_takes_them_up_at_once(
    url: str, tmp_path: Path
) -> None:
    async with working(url, tmp_path) as (workshop, _):
        left = await _accept(workshop, "left", draft={"text": "one"})
    async with working(url, tmp_path) as (workshop, _):
        assert await _ended(workshop, [left]) == {"SUCCESS"}


async def test_the_rows_of_ended_segments_are_forgotten_after_a_while(url: str, tmp_path: Path) -> None:
    async with working(url, tmp_path) as (workshop, dispatcher):
        run_id = await _accept(workshop, "run-1", draft={"text": "one"})
        await dispatcher.launch(run_id, 0)
        await _ended(workshop, [run_id])
    async with working(url, tmp_path) as (workshop, _):
        queue = SegmentQueue(workshop.database.engine_for_queue())
        await queue.connect()
        assert await queue.forget_ended(older_than=timedelta(hours=1)) == 0
        assert await queue.forget_ended(older_than=timedelta(0)) == 1
        assert await queue.states([(run_id, 0)]) == {}
        await queue.close(work_seconds=0, idle=True, finish=_nothing)


async def test_given_a_process_that_only_enqueues_when_it_accepts_a_run_then_one_that_works_drives_it(
    url: str, tmp_path: Path
) -> None:
    async with working(url, tmp_path) as (workshop, _):
        door = DbosDispatcher(workshop.engine, workshop.ledger, workshop.database, works=False)
        await door.start()
        run_id = await _accept(workshop, "run-1", draft={"text": "one"})
        await door.launch(run_id, 0)
        assert await _ended(workshop, [run_id]) == {"SUCCESS"}
        await door.stop()


def _in_order_of_their_start(conn: sa.Connection) -> list[str]:
    r = t.workflow_runs.c
    return list(conn.execute(sa.select(r.run_uuid).order_by(r.started_at)).scalars())


async def _nothing() -> None:
    return None
