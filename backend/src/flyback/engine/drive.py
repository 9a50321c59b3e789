"""Driving a run, whatever its mode: take it over, go on where its rows stand, and give it an end.

Everything is caught here: a run that nobody can drive further is FAILED, with a code that says why. Only two things end a
drive without an end of the run: it belongs to somebody else by now, or the task was cancelled, by a stopping process or by
whoever has already written that the run is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from flyback.domain.errors import FlybackError, InternalError, StateCorruptError, StorageBusyError, StorageFullError
from flyback.domain.run import Mode, RunId
from flyback.engine.agentic.drive import AgenticDriver
from flyback.engine.book import STORAGE_WAIT_SECONDS, Book, Driver
from flyback.engine.calls import Meter
from flyback.engine.dag.drive import DagDriver
from flyback.engine.log import FencedError, Inside, RunState
from flyback.engine.parts import Engine
from flyback.engine.sub_runs import SubRuns
from flyback.engine.watch import Standing, standing

_log = logging.getLogger(__name__)


async def drive(engine: Engine, run_id: RunId, segment: int) -> None:
    """Drive one segment of a run. Cancelling the task stops the calls in flight at once; they go on record where it is the
    run that was cancelled, and nothing else is written."""
    state = await _take_over(engine, lambda: engine.log.take_over(run_id, segment))
    if state is None:
        return
    try:
        await _drive(engine, state, Meter(state, engine))
    except FencedError:
        _log.info("run %s belongs to somebody else by now", run_id)


async def _drive_inside(engine: Engine, run_id: RunId, inside: Inside, outer: Meter) -> None:
    """Drive a sub-run until it has its end or waits for people. Raises FencedError."""
    log = engine.sub_runs
    assert log is not None, "whoever started a sub-run has a log of them"
    try:
        state = await _take_over(engine, lambda: log.take_over_inside(run_id, inside))
    except StateCorruptError:
        return  # it has been ended
    if state is None:
        return
    engine.watch.taken_over(state)
    try:
        await _drive(engine, state, Meter(state, engine, outer=outer))
    finally:
        engine.watch.let_go(run_id)
        log.let_go(run_id)


async def _drive(engine: Engine, state: RunState, meter: Meter) -> None:
    book = Book(state, engine, meter)
    sub_runs = SubRuns(state, engine, meter, _drive_inside)
    driver: Driver
    match state.mode:
        case Mode.DAG:
            driver = DagDriver(state, engine, meter, book, sub_runs)
        case Mode.AGENTIC:
            driver = AgenticDriver(state, engine, meter, book, sub_runs)
    engine.watch.taken_over(state)
    outside = standing.set(Standing(state.run_id))
    try:
        await _driven(driver, state.run_id)
    finally:
        await _leave(engine, state, meter)
        standing.reset(outside)
        engine.watch.let_go(state.run_id)


async def _leave(engine: Engine, state: RunState, meter: Meter) -> None:
    """The calls that were stopped with the run are on no step's record: they are put there, where it was cancelled."""
    stopped = meter.take_records()
    if stopped:
        await asyncio.shield(engine.log.leave_calls(state.run_id, state.epoch, stopped))


async def _driven(driver: Driver, run_id: RunId) -> None:
    try:
        await driver.run()
    except FencedError:
        raise
    except FlybackError as error:
        await driver.fail(error)
    except Exception as error:
        _log.exception("run %s could not be driven further", run_id)
        what = f"{type(error).__name__}: {error}"[:500]
        fix = "This is a fault of the program: the log tells more."
        await driver.fail(InternalError(f"the run could not be driven further: {what}", fix=fix))


async def _take_over(engine: Engine, take: Callable[[], Awaitable[RunState | None]]) -> RunState | None:
    while True:
        try:
            return await take()
        except (StorageBusyError, StorageFullError) as trouble:
            _log.warning("a run waits for the storage: %s", trouble)
            await engine.clock.sleep(STORAGE_WAIT_SECONDS)
