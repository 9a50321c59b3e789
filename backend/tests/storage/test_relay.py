"""A reader in one process sees the text that another one makes, as it forms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from flyback.domain.events import LiveText
from flyback.domain.redaction import Redactor
from flyback.domain.run import Mode, RunId
from flyback.storage.database import Database
from flyback.storage.hub import Hub, Subscription, Woken
from flyback.storage.ledger import Ledger
from flyback.storage.relay import CHANNEL, Relay
from kit import ledgers
from kit.clock import HandClock
from kit.databases import new_url, opened
from kit.ledgers import InDatabase, visit
from kit.subscriptions import next_within

RUN = RunId("run-1")


def _text(text: str, *, whole: bool = False, run_id: RunId = RUN) -> LiveText:
    return LiveText(run_id, "node", "draft", "visit-0", 1, text, whole)


@asynccontextmanager
async def _process(url: str, name: str, *secrets: str) -> AsyncGenerator[tuple[Database, Hub]]:
    async with _relaying(url, name, *secrets) as (database, hub, _):
        yield database, hub


@asynccontextmanager
async def _relaying(url: str, name: str, *secrets: str) -> AsyncGenerator[tuple[Database, Hub, Relay]]:
    async with opened(url) as database:
        redactor = Redactor()
        redactor.learn(*secrets)
        hub = Hub(redactor)
        relay = Relay(database, hub, worker_id=name)
        relay.start()
        try:
            yield database, hub, relay
        finally:
            await relay.stop()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_url("postgresql", tmp_path)


async def _heard(reader: Subscription, *, until: str, before: str = "") -> str:
    """Return the text that a reader who has `before` has put together, as soon as it ends so."""
    so_far = before
    async with asyncio.timeout(20):
        while not so_far.endswith(until):
            if isinstance(item := await next_within(reader, 1), LiveText):
                so_far = item.text if item.whole else so_far + item.text
    return so_far


async def test_given_a_text_that_has_begun_when_somebody_elsewhere_begins_to_read_then_the_whole_of_it_comes(
    url: str,
) -> None:
    async with _process(url, "driver") as (_, driver), _process(url, "door") as (_, door):
        # given a text longer than a message, with whatever JSON has to escape
        begun = '汉\x00\\"' * 3_000 + "end"
        driver.publish(_text("", whole=True))
        driver.publish(_text(begun))
        with door.subscribe(RUN) as reader:
            # then all of it comes, and what follows comes behind it, equal pieces included
            assert await _heard(reader, until="end") == begun
            for piece in ("ha", "ha", "ha."):
                driver.publish(_text(piece))
            assert await _heard(reader, until=".", before=begun) == begun + "hahaha."


async def test_given_a_reader_elsewhere_when_the_visit_is_stored_then_its_text_is_over_and_the_reader_is_woken(
    url: str,
) -> None:
    async with _process(url, "driver") as (database, driver), _process(url, "door") as (_, door):
        ledger = InDatabase(Ledger(database, driver, clock=HandClock(), worker_id="driver"), HandClock())
        await ledger.accept(RUN, Mode.AGENTIC)
        state = await ledger.log.take_over(RUN, 0)
        assert state is not None
        with door.subscribe(RUN) as reader:
            driver.publish(_text("one.", whole=True))
            assert await _heard(reader, until=".") == "one."
            await ledger.log.commit(ledgers.begin(state, visit(0, "ask")))
            async with asyncio.timeout(20):
                while not isinstance(await reader.next(), Woken):
                    pass
            driver.ended(RUN)
            async with asyncio.timeout(20):
                while door.texts_of(RUN):
                    await reader.next()


async def test_given_nobody_elsewhere_when_a_run_speaks_then_nothing_is_sent(url: str) -> None:
    async with _process(url, "driver") as (database, driver):
        listener = await database.lone_connection()
        async with listener:
            await listener.execute(f"LISTEN {CHANNEL}")
            driver.publish(_text("one", whole=True))
            with driver.subscribe(RUN):
                async for heard in listener.notifies(timeout=20, stop_after=1):
                    assert '"kind":"watch"' in heard.payload


async def test_given_connections_that_break_when_they_are_back_then_readers_have_the_whole_text(url: str) -> None:
    async with _process(url, "driver") as (database, driver), _process(url, "door") as (_, door):
        with door.subscribe(RUN) as reader:
            driver.publish(_text("one.", whole=True))
            assert await _heard(reader, until=".") == "one."
            # when every connection to the database is cut, and something is said meanwhile
            cut = sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            await database.write(lambda conn: conn.execute(cut).fetchall() and None)
            driver.publish(_text(" two,"))
            driver.publish(_text(" three!"))
            assert await _heard(reader, until="!", before="one.") == "one. two, three!"


async def test_given_a_driver_that_was_deaf_when_it_listens_again_then_readers_elsewhere_have_the_whole_text(
    url: str,
) -> None:
    # given a driver that hears and says nothing for a while, so that it may have missed who wants the text again
    async with _relaying(url, "driver") as (_, driver, relay), _process(url, "door") as (_, door):
        with door.subscribe(RUN) as reader:
            driver.publish(_text("one.", whole=True))
            assert await _heard(reader, until=".") == "one."
            await relay.stop()
            driver.publish(_text(" two!"))
            # when it is back
            relay.start()
            # then it does not wait to be asked
            assert await _heard(reader, until="!", before="one.") == "one. two!"


async def test_given_a_wish_for_a_text_that_was_lost_on_its_way_when_others_were_heard_before_then_it_is_said_again(
    url: str,
) -> None:
    async with _process(url, "driver") as (_, driver), _process(url, "door") as (database, door):
        # given a text that was watched here a moment ago
        with door.subscribe(RUN) as reader:
            driver.publish(_text("one.", whole=True))
            assert await _heard(reader, until=".") == "one."
        # when the connections that it is asked for on are cut, and those that listen are not
        cut = sa.text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND query NOT LIKE 'LISTEN%'"
        )
        await database.write(lambda conn: conn.execute(cut).fetchall() and None)
        with door.subscribe(RUN) as reader:
            # then it comes
            assert await _heard(reader, until=".") == "one."


async def test_given_a_message_that_cannot_be_read_when_others_follow_then_they_are_heard(url: str) -> None:
    async with _process(url, "driver") as (database, driver), _process(url, "door") as (_, door):
        with door.subscribe(RUN) as reader:
            driver.publish(_text("one.", whole=True))
            assert await _heard(reader, until=".") == "one."
            for strange in ("", "[]", '{"by": "x"}', '{"by": "x", "kind": "text", "text": 3}'):
                say = sa.text("SELECT pg_notify(:channel, :strange)").bindparams(channel=CHANNEL, strange=strange)
                await database.write(lambda conn, say=say: conn.execute(say).all() and None)
            driver.publish(_text(" two!"))
            assert await _heard(reader, until="!", before="one.") == "one. two!"


async def test_given_no_reader_any_more_when_more_is_said_elsewhere_then_nothing_is_kept(url: str) -> None:
    async with _process(url, "driver") as (_, driver), _process(url, "door") as (_, door):
        with door.subscribe(RUN) as reader:
            driver.publish(_text("one.", whole=True))
            await _heard(reader, until=".")
        driver.publish(_text(" two."))
        other = RunId("run-2")
        with door.subscribe(other) as reader:
            driver.publish(_text("done.", whole=True, run_id=other))
            await _heard(reader, until="done.")
        assert not door.texts_of(RUN)


async def test_a_secret_that_comes_in_pieces_leaves_no_process(url: str) -> None:
    # given a driver that knows a key, and a door that does not
    async with _process(url, "driver", "sk-0123456789") as (_, driver), _process(url, "door") as (_, door):
        with door.subscribe(RUN) as reader:
            driver.publish(_text("", whole=True))
            for piece in ("The key: ", "sk-0", "1234567", "89", " that is ", "all"):
                driver.publish(_text(piece))
            assert await _heard(reader, until="all") == "The key: [secret] that is all"
