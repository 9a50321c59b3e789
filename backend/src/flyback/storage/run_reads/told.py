"""What was told of a run: its durable events."""

from __future__ import annotations

import sqlalchemy as sa

from flyback.domain.json_value import loads
from flyback.domain.wire import Wire
from flyback.storage.run_reads.rows import FoundRun
from flyback.storage.tables import workflow_run_events


def events(conn: sa.Connection, run: FoundRun, *, after: int, limit: int) -> list[Wire]:
    """A run's durable events behind a position, as on the wire."""
    stored = workflow_run_events.c
    query = sa.select(workflow_run_events).where(stored.run_id == run.key, stored.seq > after)
    return [
        {
            "runId": run.run_id,
            "type": row["type"],
            "seq": row["seq"],
            "timestamp": row["created_at"],
            "data": loads(row["data_json"]),
        }
        for row in conn.execute(query.order_by(stored.seq).limit(limit)).mappings()
    ]
