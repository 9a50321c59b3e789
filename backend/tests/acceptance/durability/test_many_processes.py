"""A server without a worker and two workers on one PostgreSQL, each with a data folder of its own."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from kit.checker import faults
from kit.event_reader import EventReader
from kit.postgres import new_postgres_url
from kit.server import Server, Worker, running_server

_LEASE = {"FLYBACK_LEASE_SECONDS": "3"}


@dataclass(frozen=True, slots=True)
class Fleet:
    door: Server
    workers: tuple[Worker, ...]
    url: str

    def start(self, client: httpx.Client, draft: dict[str, Any]) -> str:
        """Start a run of one model node that answers so, and return its id."""
        started = client.post("/runs", json={"workflow": _workflow(draft)})
        assert started.status_code == 202, started.text
        return started.json()["runId"]

    def faults(self, run_id: str) -> list[str]:
        engine = sa.create_engine(self.url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)
        with engine.connect() as conn:
            return faults(conn, run_id)


def _metrics(watch: httpx.Client, key: str, *, until: str, within_seconds: float) -> str:
    deadline = time.monotonic() + within_seconds
    while True:
        numbers = watch.get("/metrics", headers={"authorization": key})
        assert numbers.status_code == 200
        if until in numbers.text:
            return numbers.text
        assert time.monotonic() < deadline, f"'{until}' was not among: {numbers.text}"
        time.sleep(0.1)


def _workflow(draft: dict[str, Any]) -> dict[str, Any]:
    script = [{"for": {"node": "draft"}, "replies": [draft], "repeatLast": True}]
    nodes: list[dict[str, Any]] = [
        {"id": "ask", "type": "userInput", "data": {"variables": []}},
        {"id": "draft", "type": "llm", "data": {"userPrompt": "Write."}},
        {"id": "answer", "type": "output", "data": {"template": "{{draft.text}}"}},
    ]
    edges = [{"source": "ask", "target": "draft"}, {"source": "draft", "target": "answer"}]
    graph = {"nodes": nodes, "edges": [{"id": f"e{place}", **edge} for place, edge in enumerate(edges)]}
    return {"name": "many processes", "mode": "DAG", "graphData": graph, "script": script}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder, url = tmp_path_factory.mktemp("fleet"), new_postgres_url()
    settings = {**_LEASE, "FLYBACK_DATABASE_URL": url}
    with running_server(folder / "door", "--no-worker", **settings) as door:
        workers = (Worker(folder / "one", url, **_LEASE), Worker(folder / "two", url, **_LEASE))
        for worker in workers:
            worker.wait_until_up()
        yield Fleet(door, workers, url)
        for worker in workers:
            worker.end(signal.SIGKILL)


def test_given_a_run_that_a_worker_drives_when_the_door_is_asked_then_its_text_is_seen_as_it_forms(
    fleet: Fleet,
) -> None:
    pieces = [f"piece {n} " for n in range(40)]
    with fleet.door.client() as client:
        run_id = fleet.start(client, {"stream": pieces, "everyMs": 50})
        reader = EventReader(fleet.door.client(), f"/runs/{run_id}/events")
        reader.wait(lambda seen: seen.ended, within_seconds=60)
    shown = ""
    for event in reader.events:
        if event.type == "text_snapshot":
            shown = event.json["data"]["text"]
        elif event.type == "text_delta":
            shown += event.json["data"]["text"]
    assert len(shown) > len("".join(pieces[:20]))
    assert "".join(pieces).startswith(shown)
    assert reader.durable[-1].type == "workflow_complete"
    assert fleet.faults(run_id) == []


def test_given_a_call_that_hangs_in_a_worker_when_the_door_cancels_then_the_run_is_over_at_once(fleet: Fleet) -> None:
    with fleet.door.client() as client:
        run_id = fleet.start(client, {"hang": True})
        reader = EventReader(fleet.door.client(), f"/runs/{run_id}/events")
        reader.wait(lambda seen: any('"draft"' in event.data for event in seen.durable), within_seconds=30)
        assert client.post(f"/runs/{run_id}/cancel").json()["status"] == "CANCELLED"
        reader.wait(lambda seen: seen.ended, within_seconds=5)
    assert fleet.faults(run_id) == []


def test_given_a_worker_with_a_port_then_it_is_watched_there_and_does_nothing_else(fleet: Fleet) -> None:
    with fleet.door.client() as client:
        key = client.headers["authorization"]
    with httpx.Client(base_url=fleet.workers[0].watch_url, trust_env=False) as watch:
        assert watch.get("/healthz").json() == {"status": "ok"}
        assert watch.get("/readyz").status_code == 200
        assert watch.get("/metrics").status_code == 401
        # A worker hears of the run that was cancelled before with its next beat.
        numbers = _metrics(watch, key, until="flyback_driven_runs 0.0", within_seconds=10)
        assert "flyback_workers 2.0" in numbers
        assert watch.get("/api/runs", headers={"authorization": key}).status_code == 404
        assert watch.get("/").status_code == 404


def test_given_workers_that_freeze_and_stop_when_the_others_go_on_then_every_run_ends_once(fleet: Fleet) -> None:
    one, two = fleet.workers
    with fleet.door.client() as client:
        runs = [fleet.start(client, {"text": "done", "delayMs": 1_500}) for _ in range(6)]
        # when the first worker, who judges, is frozen for longer than its lease, and is then told to stop
        one.freeze()
        for run_id in runs:
            reader = EventReader(fleet.door.client(), f"/runs/{run_id}/events")
            reader.wait(lambda seen: seen.ended, within_seconds=60)
        one.signal(signal.SIGCONT)
        more = [fleet.start(client, {"text": "done", "delayMs": 1_500}) for _ in range(6)]
        assert two.end(signal.SIGTERM) == 0
        for run_id in more:
            reader = EventReader(fleet.door.client(), f"/runs/{run_id}/events")
            reader.wait(lambda seen: seen.ended, within_seconds=60)
        assert {client.get(f"/runs/{run_id}").json()["status"] for run_id in (*runs, *more)} == {"SUCCESS"}
    assert [fleet.faults(run_id) for run_id in (*runs, *more)] == [[]] * 12
