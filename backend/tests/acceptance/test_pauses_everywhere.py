"""A run asks at whatever place, waits over whatever happens to its process, and is answered in whatever way."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from flyback.main.program import main
from flyback.providers.scripted import read_journal
from kit.asking import PLACES, Asking
from kit.checker import faults
from kit.server import Server

Answer = Callable[[str, Mapping[str, Any]], None]
"""Answers a question of a run."""
_INPUTS = {"topic": "tides"}


def _flyback(data: Path, *words: str) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it said."""
    said = io.StringIO()
    before, sys.argv = sys.argv, ["flyback", *words, "--data", str(data)]
    try:
        with redirect_stdout(said), redirect_stderr(said):
            main()
    except SystemExit as left:
        return int(left.code or 0), said.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("a command leaves with an exit code")


def _detail(data: Path, run_id: str) -> dict[str, Any]:
    code, said = _flyback(data, "show", run_id, "--json")
    assert code == 0, said
    return json.loads(said)


def _started_by_command(data: Path, asking: Asking) -> str:
    file = data.parent / "graph.json"
    file.write_text(json.dumps(asking.document))
    inputs = [word for name, value in _INPUTS.items() for word in ("-i", f"{name}={value}")]
    code, said = _flyback(data, "run", str(file), "--model", "scripted", "--json", *inputs)
    assert code == 4, said
    return json.loads(said.partition("\n")[0])["runId"]


def _started_by_server(server: Server, asking: Asking) -> str:
    body = {"workflow": asking.document, "inputs": _INPUTS, "model": "scripted"}
    with server.client() as client:
        answer = client.post("/runs?wait=true", json=body)
    assert (answer.status_code, answer.json()["status"]) == (200, "PAUSED"), answer.text
    return answer.json()["runId"]


def _by_command(data: Path) -> Answer:
    def answer(run_id: str, pause: Mapping[str, Any]) -> None:
        code, said = _flyback(data, "answer", run_id, "--pause", pause["pauseId"], "--answer", pause["nodeId"])
        assert code in (0, 4), said

    return answer


def _by_http(server: Server) -> Answer:
    def answer(run_id: str, pause: Mapping[str, Any]) -> None:
        with server.client() as client:
            told = client.post(f"/pauses/{pause['pauseId']}/answer", json={"answer": pause["nodeId"]})
        assert (told.status_code, told.json()["status"]) == (200, "ANSWERED"), told.text

    return answer


@contextmanager
def _waiting(way: str, data: Path, *, killed: bool) -> Generator[tuple[Answer, dict[str, str]]]:
    """Every place's run as it waits, and how it is to be answered; `killed`: the process that it ran in has died."""
    if way == "command" and not killed:
        yield _by_command(data), {place: _started_by_command(data, asking) for place, asking in PLACES.items()}
        return
    server = Server(data)
    server.start()
    try:
        runs = {place: _started_by_server(server, asking) for place, asking in PLACES.items()}
        if killed:
            server.kill()
        if killed and way != "command":
            server.start()
        yield _by_http(server) if way == "HTTP" else _by_command(data), runs
    finally:
        server.stop()


def _answered(data: Path, run_id: str, asking: Asking, answer: Answer) -> dict[str, Any]:
    """Answer whatever a run asks until it has its end."""
    asked: list[str] = []
    while True:
        detail = _detail(data, run_id)
        waiting = [pause for pause in detail["pauses"] if pause["status"] == "OPEN"]
        if detail["status"] in ("SUCCESS", "FAILED", "CANCELLED"):
            assert sorted(asked) == sorted(asking.asks)
            return detail
        for pause in waiting[:1]:
            asked.append(pause["nodeId"])
            answer(run_id, pause)


@pytest.mark.parametrize("killed", [False, True], ids=["running", "after a kill"])
@pytest.mark.parametrize("way", ["HTTP", "command", "command through a server"])
def test_a_question_at_any_place_is_answered_and_nothing_that_ran_before_runs_again(
    way: str, killed: bool, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with _waiting(way, data, killed=killed) as (answer, runs):
        ends = {place: _answered(data, run_id, PLACES[place], answer) for place, run_id in runs.items()}
    told = {place: (end["status"], end["outputs"][0]["result"]) for place, end in ends.items()}
    assert told == {place: ("SUCCESS", asking.result) for place, asking in PLACES.items()}
    calls = read_journal(data / "scripted.jsonl")
    for place, run_id in runs.items():
        keys = [call.key for call in calls if call.run_id == run_id]
        assert (len(keys), len(set(keys))) == (PLACES[place].model_calls, len(keys)), place
    engine = sa.create_engine(f"sqlite:///{data / 'flyback.sqlite'}", poolclass=sa.NullPool)
    with engine.connect() as conn:
        assert {place: faults(conn, run_id) for place, run_id in runs.items()} == {place: list[str]() for place in runs}
    engine.dispose()
