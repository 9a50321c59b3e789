"""A DAG run leaves the same record on every ledger, also when its driver dies in the middle."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from flyback.domain.events import EventType, StoredEvent
from flyback.domain.run import Mode, RunId
from flyback.engine.drive import drive
from flyback.engine.log import RunOptions
from flyback.providers.system import SystemClock
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger, NewRun
from kit.databases import BOTH, new_url, opened
from kit.drawing import draw
from kit.studio import Studio, script_of

GRAPH = draw(
    "ask -> pick; pick -[branch-0]-> a -> join; pick -[branch-0]-> b -> join; pick -[branch-1]-> c -> join; join -> out",
    ask={"variables": [{"name": "go"}]},
    pick={
        "type": "condition",
        "conditions": [{"rules": {"items": [{"variable": "go", "operator": "eq", "value": 1}]}}],
    },
    a={"failStrategy": "skip", "defaultOutput": "nothing"},
    join={"userPrompt": "{{a.text}} and {{b.text}}"},
)
SCRIPT = script_of(GRAPH, None, {"a": [{"httpError": 400}], "b": "B", "join": "J"})
RUN = RunId("00000000-0000-4000-8000-000000000001")


def _told(events: Sequence[StoredEvent]) -> list[tuple[str, JsonValue]]:
    """What the events say, times left out."""
    said: list[tuple[str, JsonValue]] = []
    for event in events:
        data = json.loads(event.data_json)
        for name in ("startedAt", "finishedAt", "durationMs"):
            data.pop(name, None)
        said.append((event.type.value, data))
    return said


async def _expected() -> list[tuple[str, JsonValue]]:
    studio = Studio()
    studio.log.accept(RUN, GRAPH, mode=Mode.DAG, options=_options(), inputs={"go": 1})
    await studio.clock.run_through(studio.start(RUN))
    return _told(studio.log.events_of(RUN))


def _options() -> RunOptions:
    return RunOptions("scripted", script=SCRIPT)


@pytest.mark.parametrize("kind", BOTH)
async def test_the_events_are_those_of_the_log_in_memory(kind: str, tmp_path: Path) -> None:
    async with opened(new_url(kind, tmp_path)) as database:
        # given a run on a database
        ledger = Ledger(database, Hub(), clock=SystemClock(), worker_id="me")
        run = NewRun(run_id=RUN, owner_id="local", mode=Mode.DAG, graph=GRAPH, inputs={"go": 1}, options=_options())
        await database.write(lambda conn: ledger.accept_in(conn, run))
        # when it is driven
        studio = Studio()
        await drive(studio.engine(ledger), RUN, 0)
        # then it tells the same story
        events = await ledger.events_after(RUN, 0)
    said = _told(events)
    expected = await _expected()
    assert [name for name, _ in said] == [name for name, _ in expected]
    for (_, got), (_, wanted) in zip(said, expected, strict=True):
        assert got == wanted


@pytest.mark.parametrize("kind", BOTH)
async def test_a_driver_that_dies_is_followed_by_one_that_goes_on(kind: str, tmp_path: Path) -> None:
    async with opened(new_url(kind, tmp_path)) as database:
        # given a driver that dies while a node asks its model
        ledger = Ledger(database, Hub(), clock=SystemClock(), worker_id="me")
        run = NewRun(run_id=RUN, owner_id="local", mode=Mode.DAG, graph=GRAPH, inputs={"go": 1}, options=_options())
        await database.write(lambda conn: ledger.accept_in(conn, run))
        studio = Studio()
        studio.hold("join")
        task = asyncio.create_task(drive(studio.engine(ledger), RUN, 0))
        await studio.asked["join"].wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # when another one takes over
        studio.let_go("join")
        await drive(studio.engine(ledger), RUN, 0)
        events = await ledger.events_after(RUN, 0)
    # then the interrupted node alone began again, and nothing was done twice
    said = _told(events)
    begun = [data for name, data in said if name == EventType.NODE_STATUS and _is(data, "join", "RUNNING")]
    assert [data.get("recovered", False) for data in begun if isinstance(data, dict)] == [False, True]
    assert len([data for _, data in said if _is(data, "b", "SUCCESS")]) == 1
    assert [call.node_id for call in studio.journal.calls] == ["a", "b", "join", "join"]
    assert said[-1][0] == "workflow_complete"


def _is(data: JsonValue, node_id: str, status: str) -> bool:
    return isinstance(data, dict) and data.get("nodeId") == node_id and data.get("status") == status
