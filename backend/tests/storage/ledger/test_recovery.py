"""What happens to runs whose driver died again and again, and to runs whose rows are damaged."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
import sqlalchemy as sa

from flyback.domain.errors import StateCorruptError
from flyback.domain.run import Mode, RunId, RunStatus, StepStatus
from flyback.domain.workspace import Workspace
from flyback.engine.log import RunState
from flyback.storage.database import Database
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger
from flyback.storage.ledger.suspects import Suspects
from kit import ledgers
from kit.checker import faults
from kit.clock import HandClock
from kit.ledgers import InDatabase, data_of, visit

RUN = RunId("run-1")
INPUTS = Workspace.of_inputs({"topic": "tides"})


def _process(database: Database, name: str) -> InDatabase:
    """A process of its own, as far as the ledger can tell."""
    return InDatabase(Ledger(database, Hub(), clock=HandClock(), worker_id=name), HandClock())


@pytest.fixture
def first(database: Database) -> InDatabase:
    return _process(database, "first")


async def _started(process: InDatabase, run_id: RunId = RUN) -> RunState:
    await process.accept(run_id, Mode.AGENTIC)
    state = await process.log.take_over(run_id, 0)
    assert state is not None
    await process.log.begin_step(state)
    await process.log.commit(ledgers.begin(state, replace(visit(0, "ask"), visit_id=f"{run_id}-0")))
    return state


async def _faults(database: Database, run_id: RunId = RUN) -> list[str]:
    return await database.read(lambda conn: faults(conn, run_id))


async def test_given_a_step_that_kills_its_worker_when_it_did_so_five_times_then_the_run_is_failed(
    database: Database, first: InDatabase
) -> None:
    await _started(first)
    for number in range(4):
        state = await _process(database, f"worker-{number}").log.take_over(RUN, 0)
        assert state is not None
        await _process(database, f"worker-{number}").ledger.database.write(
            lambda conn: conn.execute(sa.text("UPDATE workflow_runs SET step_started = true")).rowcount
        )
    assert await _process(database, "last").log.take_over(RUN, 0) is None
    last = data_of((await first.events(RUN))[-1])
    assert (last["code"], last["nodeId"]) == ("RECOVERY_EXHAUSTED", "ask")
    assert await _faults(database) == []


async def test_given_a_suspect_that_never_had_its_turn_when_its_worker_dies_then_that_death_is_not_counted(
    database: Database, first: InDatabase
) -> None:
    await _started(first)
    for number in range(12):
        assert await _process(database, f"worker-{number}").log.take_over(RUN, 0) is not None
    assert await first.status(RUN) is RunStatus.RUNNING


async def test_given_progress_when_a_worker_dies_then_the_count_starts_anew(
    database: Database, first: InDatabase
) -> None:
    await _started(first)
    process = _process(database, "second")
    for step in range(2, 12):
        state = await process.log.take_over(RUN, 0)
        assert state is not None
        await process.log.begin_step(state)
        await process.log.commit(ledgers.node_step(state, step))
    assert await first.status(RUN) is RunStatus.RUNNING


async def test_given_two_suspects_when_one_is_at_its_step_then_the_other_waits_for_its_turn(
    database: Database, first: InDatabase
) -> None:
    # given a process that died with two runs
    other = RunId("run-2")
    await _started(first)
    await _started(first, other)
    process = _process(database, "second")
    states = [await process.log.take_over(run_id, 0) for run_id in (RUN, other)]
    assert states[0] is not None
    assert states[1] is not None
    # when one has begun its step
    await process.log.begin_step(states[0])
    waiting = asyncio.create_task(process.log.begin_step(states[1]))
    await process.events(RUN)
    # then the other one waits until that is committed
    assert not waiting.done()
    await process.log.commit(ledgers.node_step(states[0], 2))
    await waiting


async def test_a_slow_suspect_does_not_hold_up_the_others_for_ever() -> None:
    suspects = Suspects(hold_seconds=0.01)
    suspects.add(RUN)
    await suspects.wait_turn(RUN)
    await suspects.wait_turn(RunId("run-2"))


async def test_given_a_map_of_writers_that_is_damaged_when_the_run_goes_on_then_it_is_made_again(
    database: Database, first: InDatabase
) -> None:
    state = await _started(first)
    envelope = ledgers.gave("ask", topic="tides")
    after = INPUTS.after(envelope, writer=0)
    ended = replace(
        visit(0, "ask"),
        visit_id=f"{RUN}-0",
        status=StepStatus.SUCCESS,
        envelope=envelope,
        writers=after.writers,
        finished_at=HandClock().now(),
    )
    await first.log.commit(ledgers.outcome(state, 2, ended, INPUTS))
    await _damage(database, "UPDATE workflow_run_visits SET writers_json = '{'")
    again = await first.log.take_over(RUN, 0)
    assert again is not None
    assert again.visits == (ended,)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE workflow_runs SET graph_data = '{'",
        "UPDATE workflow_runs SET inputs_json = '[]'",
        "UPDATE workflow_runs SET options_json = '{\"budget\": 3}'",
        "UPDATE workflow_runs SET usage_json = 'null'",
        "UPDATE workflow_run_visits SET output_json = '{\"nodeId\": 1}'",
        "UPDATE workflow_run_visits SET decision_json = 'x'",
        "UPDATE workflow_run_visits SET output_blob = 'not there'",
    ],
)
async def test_given_a_row_that_cannot_be_read_when_its_run_goes_on_then_that_run_alone_is_failed(
    damage: str, database: Database, first: InDatabase
) -> None:
    other = RunId("run-2")
    await _started(first)
    await _damage(database, damage)
    await _started(first, other)
    with pytest.raises(StateCorruptError):
        await first.log.take_over(RUN, 0)
    assert await first.status(RUN) is RunStatus.FAILED
    last = data_of((await first.events(RUN))[-1])
    assert (last["code"], last["path"]) == ("STATE_CORRUPT", ["ask"])
    assert await first.log.take_over(other, 0) is not None


async def test_given_a_run_cancelled_in_the_middle_when_it_is_looked_at_then_its_tables_are_whole(
    database: Database, first: InDatabase
) -> None:
    await _started(first)
    assert await first.cancel(RUN) is RunStatus.CANCELLED
    assert await _faults(database) == []


async def _damage(database: Database, statement: str) -> None:
    await database.write(lambda conn: conn.execute(sa.text(statement)).rowcount)
