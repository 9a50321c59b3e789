"""Processes that work with the queue die, are stopped, or share a database; every run comes to its one end."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from flyback.storage import tables as t
from kit.checker import faults
from kit.databases import new_url
from kit.drawing import draw
from kit.durable import Job, Processes
from kit.journals import wait_for_calls, wait_for_runs
from kit.postgres import own_postgres
from kit.studio import script_of

_ASK: dict[str, JsonValue] = {"variables": [{"name": "topic", "required": True}]}


def _run(name: str, *, slowly_ms: int = 0) -> dict[str, JsonValue]:
    graph = draw("ask -> draft -> review -> answer", ask=_ASK, answer={"template": "{{draft.text}}"})
    replies: list[dict[str, JsonValue]] = [{"text": text, "delayMs": slowly_ms} for text in ("one", "two", "three")]
    route = ["draft", "review", "draft", "review", "draft", "answer"]
    script = script_of(graph, route, {"draft": replies, "review": replies})
    return {
        "id": name,
        "mode": "AGENTIC",
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script,
    }


def _job(kind: str, folder: Path, runs: Sequence[dict[str, JsonValue]], failpoints: str = "") -> Job:
    return Job(new_url(kind, folder), str(folder / "scripted.jsonl"), runs, failpoints, queue=True)


def _engine(job: Job) -> sa.Engine:
    return sa.create_engine(job.url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)


def _assert_whole(job: Job, status: str = "SUCCESS") -> None:
    with _engine(job).connect() as conn:
        for run in job.runs:
            assert faults(conn, str(run["id"])) == []
        statuses = set(conn.execute(sa.select(t.workflow_runs.c.status)).scalars())
    assert statuses == {status}


def _column(job: Job, column: sa.Column[int]) -> list[int]:
    with _engine(job).connect() as conn:
        return list(conn.execute(sa.select(column)).scalars())


@pytest.mark.parametrize(
    "point", ["accept.after=kill", "take_over.after=kill", "visit.stored=kill@4", "end.after=kill"]
)
def test_given_a_death_when_the_next_process_starts_then_it_takes_up_what_was_left(
    point: str, processes: Processes, tmp_path: Path
) -> None:
    job = _job("sqlite", tmp_path, [_run("run-1")], point)
    assert processes.run(job).killed
    assert processes.run(replace(job, failpoints="")).code == 0
    _assert_whole(job)


def test_given_many_runs_and_several_deaths_when_a_process_is_left_alone_then_all_end_well(
    processes: Processes, tmp_path: Path
) -> None:
    job = _job("sqlite", tmp_path, [_run(f"run-{n}") for n in range(30)])
    for point in ("visit.stored=kill@30", "decision.after=kill@40", "end.stored=kill@5"):
        assert processes.run(replace(job, failpoints=point)).killed
    assert processes.run(job).code == 0
    _assert_whole(job)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_given_work_when_the_process_is_told_to_stop_then_it_hands_back_and_no_death_is_counted(
    kind: str, processes: Processes, tmp_path: Path
) -> None:
    # given runs in the middle of their calls
    job = _job(kind, tmp_path, [_run(f"run-{n}", slowly_ms=150) for n in range(4)])
    pid = processes.start(job)
    wait_for_runs(tmp_path / "scripted.jsonl", 4)
    # when the process is told to stop
    os.kill(pid, signal.SIGTERM)
    assert processes.wait(pid).code == 0
    # then every run waits as a new segment, and the next process ends it
    with _engine(job).connect() as conn:
        r = t.workflow_runs.c
        left = conn.execute(sa.select(r.status, r.segment, r.deaths)).all()
    assert {tuple(row) for row in left} == {("PENDING", 1, 0)}
    assert processes.run(job).code == 0
    _assert_whole(job)
    assert set(_column(job, t.workflow_runs.c.epoch)) == {2}


def test_given_three_workers_when_one_is_killed_and_one_is_frozen_then_every_run_ends_once(
    processes: Processes, tmp_path: Path
) -> None:
    # given three workers on one database
    job = _job("postgresql", tmp_path, [_run(f"run-{n}", slowly_ms=60) for n in range(12)])
    first = processes.start(replace(job, failpoints="visit.stored=kill@9"))
    wait_for_calls(tmp_path / "scripted.jsonl", 3)
    second = processes.start(job)
    frozen = processes.start(job)
    # when one is killed in the middle and one stops moving for longer than its lease
    os.kill(frozen, signal.SIGSTOP)
    assert processes.wait(first).killed
    assert processes.wait(second).code == 0
    os.kill(frozen, signal.SIGCONT)
    assert processes.wait(frozen).code == 0
    # then nothing was lost and nothing written twice
    _assert_whole(job)
    assert max(_column(job, t.workflow_runs.c.epoch)) <= 3


def test_given_a_database_that_goes_away_under_load_when_it_is_back_then_every_run_goes_on_with_its_driver(
    processes: Processes, tmp_path: Path
) -> None:
    runs = [_run(f"run-{n}", slowly_ms=150) for n in range(8)]
    with own_postgres() as server:
        job = Job(server.url, str(tmp_path / "scripted.jsonl"), runs, queue=True)
        pid = processes.start(job)
        wait_for_runs(tmp_path / "scripted.jsonl", 8)
        server.stop()
        server.start()
        assert processes.wait(pid).code == 0
        _assert_whole(job)
        assert set(_column(job, t.workflow_runs.c.epoch)) == {1}


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_given_kills_at_random_moments_when_the_last_process_is_left_alone_then_no_run_is_lost_doubled_or_stuck(
    kind: str, is_long: bool, processes: Processes, tmp_path: Path
) -> None:
    count, kills, longest_seconds = (500, 60, 4.0) if is_long else (12, 4, 0.8)
    dice = random.Random(count)  # the moments are what is random here, and they differ from machine to machine
    job = _job(kind, tmp_path, [_run(f"run-{n}", slowly_ms=30) for n in range(count)])
    for _ in range(kills):
        pid = processes.start(job)
        time.sleep(dice.uniform(0.1, longest_seconds))
        os.kill(pid, signal.SIGKILL)
        processes.wait(pid)
    assert processes.run(job).code == 0
    _assert_whole(job)


@pytest.mark.parametrize(("mode", "role"), [("AGENTIC", "planner"), ("AGENTIC", "node"), ("DAG", "node")])
def test_given_a_run_that_kills_its_worker_every_time_when_it_did_so_five_times_then_its_neighbours_end_well(
    mode: str, role: str, processes: Processes, tmp_path: Path
) -> None:
    poison = {**_run("poison"), "mode": mode}
    neighbours = [_run(f"run-{n}", slowly_ms=20) for n in range(4)]
    job = _job("sqlite", tmp_path, [poison, *neighbours])
    deaths = 0
    while deaths < 20 and processes.run(replace(job, failpoints=f"call.poison.{role}=kill")).killed:
        deaths += 1
    # The planner is asked while the visit is being stored, so that its deaths may fall on the step before that too.
    assert deaths in (range(5, 10) if role == "planner" else (5,))
    with _engine(job).connect() as conn:
        for run in job.runs:
            assert faults(conn, str(run["id"])) == []
        r = t.workflow_runs.c
        ends = {row.run_uuid: row.status for row in conn.execute(sa.select(r.run_uuid, r.status))}
        code = conn.execute(sa.select(r.error_code).where(r.run_uuid == "poison")).scalar_one()
    assert ends == {"poison": "FAILED", **{str(run["id"]): "SUCCESS" for run in neighbours}}
    assert code == "RECOVERY_EXHAUSTED"
