"""Where runs went, in small: enough to draw it in a row of a list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from flyback.domain.run import Mode
from flyback.domain.wire import Wire
from flyback.storage.tables import workflow_run_nodes, workflow_run_visits

MOST_STOPS = 50


def routes(conn: sa.Connection, modes: Mapping[int, Mode]) -> Mapping[int, Wire]:
    """Row id of a run to its `route`, the last fifty stops without what they hold, and `routeLength`; given its mode.

    Stops are an AGENTIC run's visits, or the nodes of a DAG run in the order in which they began.
    """
    found: dict[int, list[sa.Row[*tuple[Any, ...]]]] = defaultdict(list)
    for mode, stops in ((Mode.AGENTIC, _visits), (Mode.DAG, _begun_nodes)):
        runs = [run for run, its_mode in modes.items() if its_mode is mode]
        for row in conn.execute(stops(runs)) if runs else ():
            found[row.run_id].append(row)
    return {
        run: {"route": [_stop(row) for row in found[run][-MOST_STOPS:]], "routeLength": len(found[run])}
        for run in modes
    }


def _visits(runs: Sequence[int]) -> sa.Select[*tuple[Any, ...]]:
    c = workflow_run_visits.c
    columns = (c.run_id, c.node_id, c.node_label, c.iter_seq, c.on_canvas, c.status)
    return sa.select(*columns).where(c.run_id.in_(runs)).order_by(c.run_id, c.sort_order)


def _begun_nodes(runs: Sequence[int]) -> sa.Select[*tuple[Any, ...]]:
    c = workflow_run_nodes.c
    once, drawn = sa.literal(1).label("iter_seq"), sa.true().label("on_canvas")
    columns = (c.run_id, c.node_id, c.node_label, once, drawn, c.status)
    begun = c.run_id.in_(runs), c.started_at.is_not(None)
    return sa.select(*columns).where(*begun).order_by(c.run_id, c.started_at, c.node_id)


def _stop(row: sa.Row[*tuple[Any, ...]]) -> Wire:
    return {
        "nodeId": row.node_id,
        "nodeLabel": row.node_label,
        "iterSeq": row.iter_seq,
        "onCanvas": bool(row.on_canvas),
        "status": row.status,
    }
