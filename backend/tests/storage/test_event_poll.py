"""A reader here learns of a run that another process drives."""

from __future__ import annotations

from flyback.domain.run import Mode, RunId
from flyback.storage.database import Database
from flyback.storage.event_poll import EventPoll
from flyback.storage.hub import Hub, Woken
from flyback.storage.ledger import Ledger
from kit import ledgers
from kit.clock import HandClock
from kit.ledgers import InDatabase, visit
from kit.subscriptions import next_within

RUN = RunId("run-1")


async def test_given_a_run_of_another_process_when_it_moves_then_the_reader_here_is_woken_once(
    database: Database,
) -> None:
    # given a reader here, and a driver elsewhere
    hub = Hub()
    poll = EventPoll(database, hub)
    elsewhere = InDatabase(Ledger(database, Hub(), clock=HandClock(), worker_id="elsewhere"), HandClock())
    await elsewhere.accept(RUN, Mode.AGENTIC)
    state = await elsewhere.log.take_over(RUN, 0)
    assert state is not None
    with hub.subscribe(RUN) as reader:
        await poll.look()
        assert await reader.next() == Woken()
        # when nothing happens, nobody is woken
        await poll.look()
        assert await next_within(reader, 0) is None
        # when the run moves, the reader is
        await elsewhere.log.commit(ledgers.begin(state, visit(0, "ask")))
        await poll.look()
        assert await reader.next() == Woken()
