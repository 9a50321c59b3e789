"""Who watches a run is woken, is handed the text that is forming, and never slows anybody down."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from flyback.domain.events import LiveText
from flyback.domain.redaction import Redactor
from flyback.domain.run import RunId, RunUsage, StepStatus
from flyback.engine.log import Commit
from flyback.storage.hub import Hub, Woken
from kit.ledgers import visit
from kit.subscriptions import next_within

RUN = RunId("run-1")


def _text(text: str, *, whole: bool = False, source: str = "node", visit_id: str | None = "visit-0") -> LiveText:
    return LiveText(RUN, source, "draft", visit_id, 1, text, whole)


def _commit(**parts: object) -> Commit:
    return replace(Commit(RUN, epoch=1, step=1, usage=RunUsage(), events=()), **parts)


async def test_given_a_waiting_reader_when_the_run_has_news_then_it_is_woken() -> None:
    hub = Hub()
    with hub.subscribe(RUN) as reader:
        waiting = asyncio.create_task(reader.next())
        await asyncio.sleep(0)
        hub.committed(_commit())
        assert await waiting == Woken()


async def test_several_wake_ups_are_one_and_texts_keep_their_place_among_them() -> None:
    hub = Hub()
    with hub.subscribe(RUN) as reader:
        for _ in range(3):
            hub.wake(RUN)
        hub.publish(_text("a"))
        hub.wake(RUN)
        assert [await reader.next(), await reader.next(), await reader.next()] == [Woken(), _text("a"), Woken()]
        assert await next_within(reader, 0) is None


async def test_given_text_that_is_forming_when_somebody_comes_then_they_get_all_of_it_at_once() -> None:
    hub = Hub()
    hub.publish(_text("", whole=True))
    for piece in ("The ", "tides ", "turn"):
        hub.publish(_text(piece))
    with hub.subscribe(RUN) as reader:
        assert await reader.next() == _text("The tides turn", whole=True)


async def test_a_new_attempt_begins_from_nothing() -> None:
    hub = Hub()
    hub.publish(_text("half a sent"))
    hub.publish(_text("", whole=True))
    hub.publish(_text("again"))
    with hub.subscribe(RUN) as reader:
        assert await reader.next() == _text("again", whole=True)


async def test_given_a_secret_half_said_when_the_only_reader_leaves_then_its_other_half_is_shown_to_nobody() -> None:
    redactor = Redactor()
    redactor.learn("sk-live-0123456789")
    hub = Hub(redactor)
    with hub.subscribe(RUN):
        hub.publish(_text("sk-live-01"))
    hub.publish(_text("23456789 is the key"))
    with hub.subscribe(RUN) as reader:
        assert await reader.next() == _text("[secret] is the key", whole=True)


async def test_given_text_whose_visit_is_stored_when_somebody_comes_then_it_is_not_told_again() -> None:
    hub = Hub()
    hub.publish(_text("done"))
    hub.publish(_text("next?", source="planner"))
    hub.committed(_commit(visit=replace(visit(0, "draft"), status=StepStatus.SUCCESS)))
    with hub.subscribe(RUN) as reader:
        assert await reader.next() == _text("next?", source="planner", whole=True)
        hub.committed(_commit(decided=visit(0, "draft")))
    with hub.subscribe(RUN) as reader:
        assert await next_within(reader, 0) is None


async def test_given_a_reader_that_never_reads_when_it_falls_behind_then_it_is_cut_off_and_others_are_not() -> None:
    hub = Hub()
    with hub.subscribe(RUN) as slow, hub.subscribe(RUN) as quick:
        for number in range(2_000):
            hub.publish(_text(str(number)))
            assert isinstance(await quick.next(), LiveText)
        assert slow.closed
        assert await slow.next() is None
        assert not quick.closed


async def test_thousands_of_idle_readers_leave_no_task_and_no_trace() -> None:
    hub = Hub()
    readers = [hub.subscribe(RunId(f"run-{n}")) for n in range(5_000)]
    assert hub.subscriber_count == 5_000
    assert len(asyncio.all_tasks()) == 1
    for reader in readers:
        reader.close()
    assert hub.subscriber_count == 0
    assert hub.watched == frozenset()


async def test_given_waiting_readers_when_the_process_stops_then_all_are_let_go() -> None:
    hub = Hub()
    readers = [hub.subscribe(RUN) for _ in range(3)]
    waiting = [asyncio.create_task(reader.next()) for reader in readers]
    await asyncio.sleep(0)
    hub.close()
    assert await asyncio.gather(*waiting) == [None, None, None]
