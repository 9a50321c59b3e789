"""What a fork shares: cancelled before it began, with outputs too large for a row, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from flyback.dispatch.local import LocalDispatcher
from flyback.domain.run import RunId, RunStatus
from flyback.storage import tables as t
from flyback.storage.retention import forget_blobs
from kit.checker import faults
from kit.databases import BOTH, new_url
from kit.drawing import draw
from kit.durable import Workshop, new_run
from kit.forks import forked
from kit.studio import script_of

LARGE = "x" * 100_000


@pytest.fixture(params=BOTH)
async def workshop(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Workshop]:
    url = await asyncio.to_thread(new_url, request.param, tmp_path)
    opened = await Workshop.open(url, tmp_path / "scripted.jsonl")
    yield opened
    await opened.database.close()


def _given(run_id: str) -> dict[str, JsonValue]:
    graph = draw(
        "ask -> draft -> answer", ask={"variables": [{"name": "topic"}]}, answer={"template": "{{draft.text}}"}
    )
    script = script_of(graph, ["draft", "answer"], {"draft": [LARGE]})
    inputs: JsonValue = {"topic": "tides"}
    return {"id": run_id, "mode": "AGENTIC", "graph": dict(graph.document), "inputs": inputs, "script": script}


async def _driven(workshop: Workshop, run_id: str) -> None:
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    await dispatcher.launch(RunId(run_id), 0)
    await dispatcher.finished(RunId(run_id))


async def _fork(workshop: Workshop, **wish: JsonValue) -> None:
    """Accept a run, drive it, and accept a fork of it."""
    await workshop.database.write(lambda conn: workshop.ledger.accept_in(conn, new_run(_given("origin"))))
    await _driven(workshop, "origin")
    fork = {"of": "origin", **wish}
    await workshop.database.write(
        lambda conn: workshop.ledger.accept_in(conn, forked(conn, new_run(_given("fork")), fork))
    )


async def test_given_a_fork_that_nobody_began_when_it_is_cancelled_then_it_is_whole(workshop: Workshop) -> None:
    await _fork(workshop, after=1, variables={"topic": "stars"})
    assert await workshop.ledger.cancel(RunId("fork"), by="somebody") is RunStatus.CANCELLED
    assert await workshop.database.read(lambda conn: faults(conn, "fork")) == []
    assert await workshop.database.read(lambda conn: faults(conn, "origin")) == []


async def test_an_output_too_large_for_a_row_is_shared_and_stays_as_long_as_one_run_names_it(
    workshop: Workshop,
) -> None:
    await _fork(workshop, after=1, next="answer")
    r, b = t.workflow_runs, t.blobs
    stored = await workshop.database.read(lambda conn: conn.execute(sa.select(sa.func.count()).select_from(b)).scalar())
    # when the run that was forked is forgotten, and then the fork goes on
    assert stored == 2, "the text of the draft, and the result"
    await workshop.database.write(lambda conn: conn.execute(sa.delete(r).where(r.c.run_uuid == "origin")).rowcount)
    later = datetime.now(UTC) + timedelta(days=2)
    assert await workshop.database.write(lambda conn: forget_blobs(conn, now=later)) == 1, "the result is nobody's"
    await _driven(workshop, "fork")
    # then what it shares is still there
    assert await workshop.database.read(lambda conn: faults(conn, "fork")) == []
    outputs = await workshop.database.read(lambda conn: conn.execute(sa.select(r.c.outputs_json)).scalar_one())
    assert LARGE in outputs
