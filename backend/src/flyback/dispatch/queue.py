"""The distributed engine, as this product uses it: one queue of segments, and nothing else.

This module alone imports it, and is itself imported only where a queue is needed: loading it takes seconds. A segment is
one workflow with one preemptible step that drives the run; the run's own tables are the log, so nothing is ever replayed.
The workflow's name, its two text arguments and the form of its id are a stored format and must stay.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions, SetWorkflowID
from sqlalchemy.exc import SQLAlchemyError

from flyback.domain.run import RunId

Drive = Callable[[RunId, int], Awaitable[None]]
T = TypeVar("T")
QueuedState = Literal["waiting", "held", "ended"]
"""In the queue; taken by a process; done, failed, cancelled or given up."""

_APPLICATION = "flyback"
_VERSION = "1"
"""A constant: an upgrade takes up what an older program left, since everything is read from the run's tables."""
_QUEUE = "runs"
_WAITING = frozenset({"ENQUEUED", "DELAYED"})
_HELD = frozenset({"PENDING"})
_ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")
_SETTLE_LOOKS = 50
_SETTLE_LOOK_SECONDS = 0.02

_driver: Drive | None = None
"""Of this process's only queue. The engine is a singleton, and what it runs are functions of the module."""


@DBOS.workflow(name="segment", max_recovery_attempts=1000)
async def _segment(run_id: str, segment: str) -> None:
    await _drive(run_id, segment)


@DBOS.step(name="drive", preemptible=True)
async def _drive(run_id: str, segment: str) -> None:
    if _driver is not None:
        await _driver(RunId(run_id), int(segment))


@dataclass(frozen=True, slots=True)
class QueuedSegment:
    state: QueuedState
    executor_id: str | None


class SegmentQueue:
    """The queue of one process. Make it, then `launch` where this process also works, and `close` at the end."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._launched = False
        self._executor_id = ""
        self._client: DBOSClient | None = None
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="flyback-queue")

    async def launch(self, drive: Drive, *, executor_id: str, slots: int, poll_seconds: float) -> None:
        """Begin to claim segments. They run on the loop that this is called on."""
        global _driver
        _driver = drive
        self._executor_id = executor_id
        _hush()
        DBOS(
            config=DBOSConfig(
                name=_APPLICATION,
                executor_id=executor_id,
                application_version=_VERSION,
                system_database_engine=self._engine,
                serializer=DBOSPortableJSONSerializer(),
                notification_listener_polling_interval_sec=0.05,
                log_level="WARNING",
                enable_otlp=False,
            )
        )
        DBOS.launch()
        self._launched = True
        self._connect()
        await DBOS.register_queue_async(
            _QUEUE, worker_concurrency=slots, polling_interval_sec=poll_seconds, on_conflict="always_update"
        )

    async def connect(self) -> None:
        """Make ready to enqueue and to look, without claiming anything."""
        _hush()

        def connect() -> None:
            if self._engine.dialect.name == "postgresql":  # else whoever works here has made the tables
                DBOS.migrate(self._engine.url.render_as_string(hide_password=False))
            self._connect()

        await self._in_thread(connect)

    def _connect(self) -> None:
        self._client = DBOSClient(
            system_database_engine=self._engine,
            serializer=DBOSPortableJSONSerializer(),
            application_name=_APPLICATION,
        )

    def enqueue_in(self, conn: sa.Connection, run_id: RunId, segment: int) -> None:
        """Put a segment into the queue in the caller's transaction."""
        options: EnqueueOptions = {
            "queue_name": _QUEUE,
            "workflow_name": "segment",
            "workflow_id": workflow_id(run_id, segment),
            "app_version": _VERSION,
        }
        self._connected.enqueue_in_transaction(conn, options, run_id, str(segment))

    async def start(self, run_id: RunId, segment: int) -> None:
        """Start a segment here and now, past the queue."""
        with SetWorkflowID(workflow_id(run_id, segment)):
            await DBOS.start_workflow_async(_segment, run_id, str(segment))

    async def states(self, segments: Sequence[tuple[RunId, int]]) -> Mapping[tuple[RunId, int], QueuedSegment]:
        """Look segments up; those that no queue ever saw are left out."""
        ids = {workflow_id(run_id, segment): (run_id, segment) for run_id, segment in segments}
        found = await self._in_thread(
            lambda: self._connected.list_workflows(workflow_ids=list(ids), load_input=False, load_output=False)
        )
        return {ids[one.workflow_id]: QueuedSegment(_state(one.status), one.executor_id) for one in found}

    async def somebody_waits(self) -> bool:
        """Whether any segment is in the queue and not taken. True also where the database cannot tell."""

        def look() -> bool:
            return bool(
                self._connected.list_workflows(
                    status=list(_WAITING), queue_name=_QUEUE, limit=1, load_input=False, load_output=False
                )
            )

        try:
            return await self._in_thread(look)
        except SQLAlchemyError:
            return True

    async def cancel(self, run_id: RunId, segment: int) -> None:
        """Take a segment out of the queue, or stop it where another process works on it, within a second or so."""
        await self._in_thread(lambda: self._connected.cancel_workflow(workflow_id(run_id, segment)))

    async def forget_ended(self, *, older_than: timedelta, at_most: int = 1_000) -> int:
        """Delete the rows of segments that ended long ago, and return how many they were. No run needs them."""

        def forget() -> int:
            before = (datetime.now(UTC) - older_than).isoformat()
            ended = self._connected.list_workflows(
                status=list(_ENDED), completed_before=before, limit=at_most, load_input=False, load_output=False
            )
            if ended:
                self._connected.delete_workflows([one.workflow_id for one in ended])
            return len(ended)

        return await self._in_thread(forget)

    async def close(self, *, work_seconds: float, idle: bool, finish: Callable[[], Awaitable[None]]) -> None:
        """Stop claiming, let `finish` end what runs here (in `work_seconds` at most), then stop altogether.

        `idle` says that nothing runs here by now, so that only outcomes may have to be stored yet.
        """
        global _driver
        if self._launched:
            if idle:
                await self._settled()
            # Destroying stops claiming at once and then waits in whole seconds, so it is told to wait only if it must.
            busy = await self._in_thread(self._is_busy)
            destroying = _start_thread(lambda: _destroy(int(work_seconds) + 2 if busy else 0))
            await finish()
            await destroying
            _driver = None
        if self._client is not None:
            self._client.destroy()
        self._threads.shutdown()
        self._engine.dispose()

    @property
    def _connected(self) -> DBOSClient:
        assert self._client is not None, "the queue is launched or connected before it is used"
        return self._client

    async def _settled(self) -> None:
        """Wait a moment for the outcomes of segments that have returned to be stored."""
        for _ in range(_SETTLE_LOOKS):
            if not await self._in_thread(self._is_busy):
                return
            await asyncio.sleep(_SETTLE_LOOK_SECONDS)

    def _is_busy(self) -> bool:
        held = self._connected.list_workflows(
            status="PENDING", executor_id=self._executor_id, load_input=False, load_output=False, limit=1
        )
        return bool(held)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        # Not in the loop's usual threads: the engine replaces them by its own, and shuts those down.
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def workflow_id(run_id: RunId, segment: int) -> str:
    return f"{run_id}:{segment}"


def _state(status: str) -> QueuedState:
    return "waiting" if status in _WAITING else "held" if status in _HELD else "ended"


def _destroy(seconds: int) -> None:
    DBOS.destroy(workflow_completion_timeout_sec=seconds)


def _start_thread(work: Callable[[], None]) -> asyncio.Future[None]:
    """Run work in a thread of its own."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            loop.call_soon_threadsafe(done.set_exception, error)
        else:
            loop.call_soon_threadsafe(done.set_result, None)

    threading.Thread(target=run, name="flyback-queue-stop").start()
    return done


class _Expected(logging.Filter):
    """Keeps out what the engine reports as an error and is none here: a cancelled segment that was awaited."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "DBOSAwaitedWorkflowCancelledError" not in record.getMessage() and (
            record.exc_info is None or "Cancelled" not in type(record.exc_info[1]).__name__
        )


def _hush() -> None:
    log = logging.getLogger("dbos")
    if not any(isinstance(one, _Expected) for one in log.filters):
        log.addFilter(_Expected())
