"""Storage trouble is not run trouble: a step that cannot be stored waits, and the run ends as if nothing had been."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from kit.checker import faults
from kit.databases import BOTH, new_url
from kit.drawing import draw
from kit.durable import Job, Processes
from kit.studio import script_of


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("trouble", ["busy", "enospc"])
def test_given_a_database_in_trouble_when_a_run_goes_on_then_its_steps_wait_and_nothing_is_lost(
    kind: str, trouble: str, tmp_path: Path
) -> None:
    graph = draw("ask -> draft -> answer", ask={"variables": [{"name": "topic"}]})
    run: dict[str, JsonValue] = {
        "id": "run-1",
        "mode": "AGENTIC",
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script_of(graph, ["draft", "answer"], {"draft": ["one"]}),
    }
    points = ("take_over.before", "begin.stored", "visit.stored", "decision.stored", "end.stored")
    job = Job(new_url(kind, tmp_path), str(tmp_path / "scripted.jsonl"), [run])
    with Processes() as processes:
        assert processes.run(replace(job, failpoints=",".join(f"{point}={trouble}@1" for point in points))).code == 0
    engine = sa.create_engine(job.url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)
    with engine.connect() as conn:
        assert faults(conn, "run-1") == []
        assert conn.execute(sa.text("SELECT status FROM workflow_runs")).scalar_one() == "SUCCESS"
