"""Runs with runs inside them, worked on with the queue: stopped in order, killed again and again, and a poison inside."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from flyback.storage import tables as t
from kit.checker import faults
from kit.databases import new_url
from kit.drawing import draw
from kit.durable import Job, Processes
from kit.journals import begun, wait_for_calls
from kit.studio import script_of


def _job(folder: Path, *, items: int, slowly_ms: int = 0) -> Job:
    """An iteration, one item after the other, each with a model call."""
    inner = draw("ask -> work -> out", ask={"variables": [{"name": "item"}]}, out={"template": "{{item}}"})
    file: dict[str, JsonValue] = {
        "graphData": cast("JsonValue", dict(inner.document)),
        "script": script_of(inner, None, {"work": [{"text": "x", "delayMs": slowly_ms}]}),
    }
    each: dict[str, JsonValue] = {
        "type": "iteration",
        "workflow": file,
        "items": list(range(items)),
        "parallel": 1,
    }
    outer = draw("ask -> each -> answer", ask={}, each=each, answer={"template": "{{each.results}}"})
    run: dict[str, JsonValue] = {
        "id": "outer",
        "mode": "DAG",
        "graph": dict(outer.document),
        "inputs": {},
        "script": None,
    }
    return Job(new_url("sqlite", folder), str(folder / "scripted.jsonl"), [run], queue=True)


def _outer(job: Job) -> tuple[str, str | None, int, int]:
    r = t.workflow_runs.c
    with sa.create_engine(job.url, poolclass=sa.NullPool).connect() as conn:
        asked = sa.select(r.status, r.error_code, r.segment, r.deaths).where(r.run_uuid == "outer")
        row = conn.execute(asked).one()
        return row.status, row.error_code, row.segment, row.deaths


def _faults(job: Job) -> list[str]:
    with sa.create_engine(job.url, poolclass=sa.NullPool).connect() as conn:
        return faults(conn, "outer")


def test_given_work_inside_when_the_process_is_told_to_stop_then_the_outer_run_is_handed_back(
    processes: Processes, tmp_path: Path
) -> None:
    job = _job(tmp_path, items=4, slowly_ms=150)
    pid = processes.start(job)
    wait_for_calls(tmp_path / "scripted.jsonl", 2)
    os.kill(pid, signal.SIGTERM)
    assert processes.wait(pid).code == 0
    assert _outer(job) == ("PENDING", None, 1, 0)
    assert processes.run(job).code == 0
    assert _outer(job)[0] == "SUCCESS"
    assert _faults(job) == []
    # the item that was at work when the time was up is the only one whose call may have been made twice
    keys = [call.key for call in begun(tmp_path / "scripted.jsonl")]
    assert len(keys) - len(set(keys)) <= 1


def test_given_progress_inside_when_workers_die_often_then_the_deaths_do_not_add_up(
    processes: Processes, tmp_path: Path
) -> None:
    job = _job(tmp_path, items=5)
    deaths = 0
    while processes.run(replace(job, failpoints="node.stored=kill@4")).killed:
        deaths += 1
        assert deaths < 30
    assert deaths > 5
    assert _outer(job)[0] == "SUCCESS"
    assert _faults(job) == []


@pytest.mark.parametrize("point", ["take_over_inside.after=kill", "sub_run.before=kill"])
def test_given_a_step_inside_that_kills_every_worker_then_the_outer_run_ends_and_all_in_it(
    point: str, processes: Processes, tmp_path: Path
) -> None:
    job = _job(tmp_path, items=2)
    deaths = 0
    while processes.run(replace(job, failpoints=point)).killed:
        deaths += 1
        assert deaths < 10
    assert deaths == 5
    assert _outer(job)[:2] == ("FAILED", "RECOVERY_EXHAUSTED")
    assert _faults(job) == []
