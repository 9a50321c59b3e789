"""The run ledger: fenced, numbered, whole steps on SQLite or PostgreSQL.

Whoever accepts, cancels or hands back a run does it here too, each in one transaction that locks the run's row first.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from flyback.domain.answering import Given
from flyback.domain.errors import NotFoundError, PauseClosedError
from flyback.domain.events import EventType, StoredEvent
from flyback.domain.run import RunId, RunStatus
from flyback.engine import event_data
from flyback.engine.failpoints import hit
from flyback.engine.log import OpenRun, RunEnd
from flyback.storage import tables as t
from flyback.storage import workers
from flyback.storage.ledger.answers import answer, due
from flyback.storage.ledger.driven import DrivenLedger
from flyback.storage.ledger.inner import Settled, end_and_tell
from flyback.storage.ledger.new_run import NewRun, accept
from flyback.storage.ledger.segments import Enqueue, issue_again, open_runs, segment_of


class Ledger(DrivenLedger):
    """With what everybody else than its driver does to a run, and who there is to drive it."""

    def accept_in(self, conn: sa.Connection, run: NewRun) -> int:
        """Store a run as PENDING with its first event, in the caller's transaction; return its row's id."""
        hit("accept.before")
        row_id = accept(conn, run, worker_id=self.worker_id, now=self.clock.now(), redactor=self.redactor)
        hit("accept.stored")
        return row_id

    async def cancel(self, run_id: RunId, by: str) -> RunStatus:
        """End a run as CANCELLED unless it has its end; return its status by then. Raises NotFoundError."""
        return (await self.cancel_inside(run_id, by))[0]

    async def cancel_inside(self, run_id: RunId, by: str) -> tuple[RunStatus, Settled | None]:
        """The same; and of a run inside another, what of the outer one is to be started, which rested for it."""
        now = self.clock.now()

        def work(conn: sa.Connection) -> tuple[RunStatus, Settled | None]:
            hit("cancel.before")
            end = RunEnd(RunStatus.CANCELLED)
            settled = end_and_tell(conn, run_id, end, event_data.run_cancelled(by), now, self.worker_id)
            hit("cancel.stored")
            return _status(conn, run_id), settled

        status, settled = await self.database.write(work)
        hit("cancel.after")
        self._hub.ended(run_id)
        self._hear(settled)
        return status, settled

    async def answer(
        self, pause_id: str, given: Given, *, owner_id: str, by: str, actor_id: str | None = None
    ) -> Settled:
        """Store an answer, and that of an approval in the audit log too. Where it gives the run a new segment, that one is
        in no queue yet.

        Raises:
            NotFoundError, PauseAnsweredError, PauseClosedError, InputInvalidError: it is not taken.
        """
        now = self.clock.now()
        said = Given(
            [(question, self.redactor.value(value)) for question, value in given.answers],
            self.redactor.value(given.answer),
            given.action,
        )

        def work(conn: sa.Connection) -> Settled | None:
            hit("answer.before")
            settled = answer(
                conn,
                pause_id,
                said,
                owner_id=owner_id,
                by=by,
                actor_id=actor_id or by,
                now=now,
                worker_id=self.worker_id,
            )
            hit("answer.stored")
            return settled

        settled = await self.database.write(work)
        hit("answer.after")
        if settled is None:
            raise PauseClosedError("The question has expired.", fix="Look at the run: it goes on without an answer.")
        self._hear(settled)
        return settled

    async def expire_due(self, run_id: RunId | None = None) -> Sequence[OpenRun]:
        """End the wait for every answer that did not come in time, of one run or of all.

        Returns the runs whose new segment is to be started.
        """
        now = self.clock.now()
        found = await self.database.read(lambda conn: due(conn, now, run_id))
        settled = [await self._expire(pause_id) for pause_id in found]
        return [
            OpenRun(one.run_id, one.segment, one.status, self.worker_id)
            for one in settled
            if one is not None and one.segment is not None
        ]

    async def reissue(self, run_id: RunId, segment: int, enqueue: Enqueue | None) -> int | None:
        """Give a run whose segment is lost a new one, and return it; None where the run moved on meanwhile.

        It goes into the queue, or, without `enqueue`, to this process, which then must start it.
        """

        def work(conn: sa.Connection) -> int | None:
            issued = issue_again(conn, run_id, segment, None if enqueue else self.worker_id)
            if issued is not None and enqueue is not None:
                enqueue(conn, run_id, issued)
            return issued

        return await self.database.write(work)

    async def open_runs(self) -> Sequence[OpenRun]:
        """Return every run that is PENDING or RUNNING, without those inside others: these are driven with them."""
        return await self.database.read(open_runs)

    async def segment_of(self, run_id: RunId) -> int | None:
        """Return a run's present segment; None where there is no such run."""
        return await self.database.read(lambda conn: segment_of(conn, run_id))

    async def events_after(self, run_id: RunId, seq: int, limit: int = 500) -> Sequence[StoredEvent]:
        """Return a run's events above `seq`, in order."""
        return await self.database.read(lambda conn: _events_after(conn, run_id, seq, limit))

    # Who there is to drive.

    async def beat(self, *, judges: bool) -> None:
        """Say that this process lives, by the database's clock, and whether it looks for runs of the dead."""
        now = self.clock.now()
        await self.database.write(lambda conn: workers.beat(conn, self.worker_id, now=now, judges=judges))

    async def living_workers(self, lease_seconds: float) -> frozenset[str]:
        """Return the processes whose last beat is younger than a lease."""
        return await self.database.read(lambda conn: workers.living(conn, lease_seconds))

    async def judge(self, lease_seconds: float) -> str | None:
        """Return which of the living looks for runs of the dead."""
        return await self.database.read(lambda conn: workers.judge(conn, lease_seconds))

    async def bury(self, older_than_seconds: float) -> None:
        """Forget the processes that have been dead for so long and that no open run names."""
        await self.database.write(lambda conn: workers.bury(conn, older_than_seconds))

    async def sign_off(self) -> None:
        """Say that this process will not beat any more."""
        await self.database.write(lambda conn: workers.sign_off(conn, self.worker_id))


def _status(conn: sa.Connection, run_id: RunId) -> RunStatus:
    r = t.workflow_runs.c
    status = conn.execute(sa.select(r.status).where(r.run_uuid == run_id)).scalar_one_or_none()
    if status is None:
        raise NotFoundError(f"There is no run {run_id!r}.")
    return RunStatus(status)


def _events_after(conn: sa.Connection, run_id: RunId, seq: int, limit: int) -> list[StoredEvent]:
    r, e = t.workflow_runs.c, t.workflow_run_events.c
    row_id = sa.select(r.id).where(r.run_uuid == run_id).scalar_subquery()
    found = (
        sa.select(e.seq, e.type, e.data_json, e.created_at)
        .where(e.run_id == row_id, e.seq > seq)
        .order_by(e.seq)
        .limit(limit)
    )
    return [
        StoredEvent(run_id, row.seq, EventType(row.type), row.data_json, row.created_at) for row in conn.execute(found)
    ]
