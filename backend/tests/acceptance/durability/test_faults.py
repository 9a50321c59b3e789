"""What goes wrong around a run: a full disk, a clock that jumps, a process told to stop while it accepts, a bad start."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from flyback.cli.hooks import ServeOptions
from flyback.dispatch.local import LocalDispatcher
from flyback.domain.errors import DataFolderHeldError, DataFolderUnusableError, InvalidError
from flyback.domain.run import RunId
from flyback.engine import failpoints
from flyback.main.serving import serve
from flyback.providers.system import SystemClock
from flyback.storage import tables as t
from flyback.storage.data_folder import DataFolder
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger
from kit.checker import faults
from kit.databases import BOTH, new_url
from kit.door import Door, open_door
from kit.drawing import draw
from kit.durable import Workshop, new_run
from kit.server import Server
from kit.studio import script_of

_RUN = RunId("run-1")


def _run(mode: str = "AGENTIC", *, text: str = "one") -> dict[str, JsonValue]:
    graph = draw("ask -> draft -> review -> answer", ask={"variables": [{"name": "topic"}]})
    route = ["draft", "review", "draft", "answer"] if mode == "AGENTIC" else None
    script = script_of(graph, route, {"draft": [text, text], "review": ["go on"]})
    return {
        "id": _RUN,
        "mode": mode,
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script,
    }


async def _accept(workshop: Workshop, run: dict[str, JsonValue]) -> None:
    await workshop.database.write(lambda conn: workshop.ledger.accept_in(conn, new_run(run)))


async def _driven(workshop: Workshop) -> list[str]:
    """Drive the run to its end, and return what is wrong with it."""
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    await dispatcher.launch(_RUN, 0)
    await dispatcher.finished(_RUN)
    return await workshop.database.read(lambda conn: faults(conn, _RUN))


async def test_given_a_disk_that_fills_up_under_a_run_when_there_is_room_again_then_the_run_ends_whole(
    tmp_path: Path,
) -> None:
    workshop = await Workshop.open(new_url("sqlite", tmp_path), tmp_path / "scripted.jsonl")
    await _accept(workshop, _run(text="x" * 60_000))
    pages = await workshop.database.read(lambda conn: conn.execute(sa.text("PRAGMA page_count")).scalar_one())
    await _allow_pages(workshop, pages + 20)
    # given a run whose outputs need more room than there is
    driving = asyncio.create_task(_driven(workshop))
    held_up = asyncio.create_task(_is_full(workshop))
    await asyncio.wait([driving, held_up], return_when=asyncio.FIRST_COMPLETED)
    assert not driving.done()
    # when there is room again
    await _allow_pages(workshop, 1_000_000)
    assert await driving == []
    await workshop.database.close()


async def _allow_pages(workshop: Workshop, pages: int) -> None:
    limit = sa.text(f"PRAGMA max_page_count = {pages}")
    await workshop.database.write(lambda conn: conn.execute(limit).scalar_one())


async def _is_full(workshop: Workshop) -> None:
    """Return when the database has as many pages as it may, and so does not for a moment."""
    room = sa.text("SELECT (SELECT * FROM pragma_max_page_count) - (SELECT * FROM pragma_page_count)")
    seen: list[int] = []
    while len(seen) < 20 or len(set(seen[-20:])) > 1:
        seen.append(await workshop.database.write(lambda conn: conn.execute(room).scalar_one()))
        await asyncio.sleep(0.01)


class _JumpingClock(SystemClock):
    """A wall clock that somebody sets forward and back all the time."""

    def __init__(self) -> None:
        self._jumps = cycle([timedelta(days=3), timedelta(days=-400), timedelta(0), timedelta(hours=-1)])

    def now(self) -> datetime:
        return datetime.now(UTC) + next(self._jumps)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("mode", ["AGENTIC", "DAG"])
async def test_given_a_clock_that_jumps_when_a_run_is_driven_then_its_order_stands(
    kind: str, mode: str, tmp_path: Path
) -> None:
    workshop = await Workshop.open(new_url(kind, tmp_path), tmp_path / "scripted.jsonl", clock=_JumpingClock())
    await _accept(workshop, _run(mode))
    assert await _driven(workshop) == []
    status = sa.select(t.workflow_runs.c.status)
    assert await workshop.database.read(lambda conn: conn.execute(status).scalar_one()) == "SUCCESS"
    await workshop.database.close()


@pytest.fixture
async def door(tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path) as opened:
        yield opened
        failpoints.arm("")


@pytest.mark.parametrize(
    ("trouble", "status", "code"), [("busy", 503, "STORAGE_BUSY"), ("enospc", 507, "STORAGE_FULL")]
)
async def test_given_a_database_in_trouble_when_a_run_is_asked_for_then_the_caller_is_told_and_nothing_is_stored(
    trouble: str, status: int, code: str, door: Door
) -> None:
    failpoints.arm(f"accept.stored={trouble}@1")
    refused = await door.key.post("/api/runs", json={"workflow": _document()})
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert ("retry-after" in refused.headers) == (status == 503)
    assert (await door.key.get("/api/runs")).json()["items"] == []
    assert (await door.key.post("/api/runs", json={"workflow": _document()})).status_code == 202


async def test_given_as_many_waiting_runs_as_may_when_one_more_is_asked_for_then_it_is_refused_for_a_while(
    tmp_path: Path,
) -> None:
    async with open_door(tmp_path, queue_limit=2) as door:
        ledger = Ledger(door.database, Hub(), clock=SystemClock(), worker_id="nobody")
        for name in ("run-2", "run-3"):
            waiting = new_run({**_run(), "id": name})
            assert (await door.key.post("/api/runs", json={"workflow": _document()})).status_code == 202
            await door.database.write(lambda conn, waiting=waiting: ledger.accept_in(conn, waiting))
        refused = await door.key.post("/api/runs", json={"workflow": _document()})
        assert (refused.status_code, refused.json()["code"]) == (429, "TOO_MANY")
        assert int(refused.headers["retry-after"]) > 0


def _document() -> dict[str, JsonValue]:
    graph = draw("ask -> draft -> answer", ask={"variables": []})
    script = script_of(graph, None, {"draft": [{"text": "one", "delayMs": 50}]})
    return {"name": "faults", "mode": "DAG", "graphData": dict(graph.document), "script": script}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_given_runs_that_are_being_accepted_when_the_server_ends_then_every_one_that_was_promised_is_kept(
    number: signal.Signals, tmp_path: Path
) -> None:
    server = Server(tmp_path / "data")
    server.start()
    promised: list[str] = []
    enough = threading.Event()

    def ask() -> None:
        with server.client() as client:
            try:
                while (answer := client.post("/runs", json={"workflow": _document()})).status_code == 202:
                    promised.append(answer.json()["runId"])
                    if len(promised) >= 30:
                        enough.set()
            except httpx.HTTPError:
                return  # the server is gone

    callers = [threading.Thread(target=ask) for _ in range(3)]
    for caller in callers:
        caller.start()
    assert enough.wait(60)
    server.stop() if number is signal.SIGTERM else server.kill()
    for caller in callers:
        caller.join()
    # when it is there again, it drives them all to their end
    server.start()
    try:
        with server.client() as client:
            for run_id in promised:
                while client.get(f"/runs/{run_id}").json()["status"] in {"PENDING", "RUNNING"}:
                    pass
        engine = sa.create_engine(f"sqlite:///{tmp_path}/data/flyback.sqlite", poolclass=sa.NullPool)
        with engine.connect() as conn:
            assert [faults(conn, run_id) for run_id in promised] == [[]] * len(promised)
    finally:
        server.stop()


def _options(data: Path, port: int = 0) -> ServeOptions:
    return ServeOptions(data, "127.0.0.1", port, None, True, "default", False, False)


def test_given_a_port_in_use_when_a_server_starts_then_it_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InvalidError, match="cannot be listened on"):
        serve(_options(tmp_path, taken.getsockname()[1]))


def test_given_a_folder_that_is_served_when_a_second_server_starts_then_it_is_told_by_whom(tmp_path: Path) -> None:
    folder = DataFolder.hold(tmp_path)
    with pytest.raises(DataFolderHeldError, match="in use by process"):
        serve(_options(tmp_path))
    folder.release()


@pytest.mark.parametrize("where", ["/proc/flyback", "a-file/flyback"])
def test_given_a_folder_that_cannot_be_written_when_a_server_starts_then_it_says_so(where: str, tmp_path: Path) -> None:
    (tmp_path / "a-file").write_text("")
    with pytest.raises(DataFolderUnusableError, match="cannot be written"):
        serve(_options(tmp_path / where))
