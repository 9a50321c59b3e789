"""A process dies at each point of a fork's life; a fresh one finishes it, and what it shares is never done again."""

from __future__ import annotations

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
from kit.journals import begun, recorded_keys
from kit.studio import script_of

_MOST_POINTS = 80


def _origin() -> dict[str, JsonValue]:
    graph = draw(
        "ask -> draft -> review -> answer",
        ask={"variables": [{"name": "topic", "required": True}]},
        answer={"template": "{{topic}}: {{draft.text}}"},
    )
    replies = {"draft": ["one", "two"], "review": ["too short", "fine"]}
    return {
        "id": "origin",
        "mode": "AGENTIC",
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script_of(graph, ["draft", "review", "draft", "answer"], replies),
    }


FORKS: dict[str, dict[str, JsonValue]] = {
    "sent on by a person": {"of": "origin", "after": 2, "next": "draft", "variables": {"topic": "stars"}},
    "asking the planner": {"of": "origin", "after": 1, "variables": {"draft__text": "mine"}},
}


def _stored(engine: sa.Engine, run_id: str) -> list[str]:
    """The model calls of a run that are stored."""
    with engine.connect() as conn:
        return sorted(key for key in recorded_keys(conn) if key.startswith(run_id))


def _dies_and_recovers(fork: dict[str, JsonValue], failpoints: str, processes: Processes, job: Job) -> bool:
    origin = job.runs[0]
    assert processes.run(job).code == 0
    asked = len(begun(Path(job.journal)))
    forked = replace(job, runs=[origin, {**origin, "id": "fork", "fork": fork}], failpoints=failpoints)
    died = processes.run(forked)
    engine = sa.create_engine(job.url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)
    stored = _stored(engine, "fork")
    asked_before = len(begun(Path(job.journal)))
    if died.killed:
        assert processes.run(replace(forked, failpoints="")).code == 0
    with engine.connect() as conn:
        for run_id in ("origin", "fork"):
            assert faults(conn, run_id) == [], failpoints
        statuses = set(conn.execute(sa.select(t.workflow_runs.c.status)).scalars())
        v, r = t.workflow_run_visits.c, t.workflow_runs.c
        mine = sa.select(v.visit_uuid, v.origin_visit_uuid).join(t.workflow_runs, r.id == v.run_id)
        rows = conn.execute(mine.where(r.run_uuid == "fork").order_by(v.sort_order)).all()
    engine.dispose()
    assert statuses == {"SUCCESS"}
    shared = [row.visit_uuid for row in rows if row.origin_visit_uuid is not None]
    assert len(shared) == int(str(fork["after"])) + 1
    calls = begun(Path(job.journal))[asked:]
    assert {call.run_id for call in calls} == {"fork"}
    assert not any(f"/{visit_id}/node-" in call.key for call in calls for visit_id in shared)
    again = [call.key for call in begun(Path(job.journal))[asked_before:]]
    assert not set(stored).intersection(again), f"what was stored was asked again ({failpoints})"
    return died.killed


@pytest.mark.parametrize("name", FORKS)
def test_given_a_death_at_any_point_of_a_fork_when_a_fresh_process_goes_on_then_it_is_whole(
    name: str, processes: Processes, tmp_path: Path
) -> None:
    points = 0
    for point in range(1, _MOST_POINTS):
        folder = tmp_path / str(point)
        folder.mkdir()
        job = Job(new_url("sqlite", folder), str(folder / "scripted.jsonl"), [_origin()])
        if not _dies_and_recovers(FORKS[name], f"*=kill@{point}", processes, job):
            break
        points = point
    assert 15 < points < _MOST_POINTS - 1


@pytest.mark.parametrize("point", [1, 2, 5, 9, 14])
def test_given_postgresql_and_a_death_of_a_fork_when_a_fresh_process_goes_on_then_it_is_whole(
    point: int, processes: Processes, tmp_path: Path
) -> None:
    job = Job(new_url("postgresql", tmp_path), str(tmp_path / "scripted.jsonl"), [_origin()])
    assert _dies_and_recovers(FORKS["sent on by a person"], f"*=kill@{point}", processes, job)
