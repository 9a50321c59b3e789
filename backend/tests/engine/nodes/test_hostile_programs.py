"""The corpus of hostile programs, each through the engine and a real process: as a code node, and as a skill's script.

A file begins with the codes that its end may have. None of them has a result, and none is missed by the next program.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

import pytest

from flyback.domain.graph import Graph
from flyback.engine.ports import Skill
from flyback.providers.sandbox.limits import CodeLimits
from flyback.providers.sandbox.sandbox import MontySandbox
from kit.studio import Answers, SeenRun, Studio

CORPUS = {
    path.stem: path.read_text(encoding="utf-8") for path in (Path(__file__).parents[2] / "corpus" / "sandbox").iterdir()
}
QUICK = CodeLimits(seconds=0.5, grace_seconds=0.3)


@pytest.fixture
async def sandbox(studio: Studio) -> AsyncGenerator[MontySandbox]:
    studio.sandbox = box = MontySandbox(limits=QUICK)
    yield box
    await box.close()


def _ends(source: str) -> set[str]:
    return set(source.partition("\n")[0].removeprefix("#").split())


async def _run(studio: Studio, graph: Graph, answers: Answers = ()) -> SeenRun:
    """Run it by the wall's clock: a process outside takes its own time."""
    run_id = studio.accept(graph, answers=answers)
    await studio.start(run_id)
    return studio.look(run_id)


@pytest.mark.parametrize("name", sorted(CORPUS))
@pytest.mark.usefixtures("sandbox")
async def test_a_hostile_program_fails_its_node_and_the_next_program_runs(studio: Studio, name: str) -> None:
    graph = studio.draw(
        "ask -> bad -> out; bad -[error]-> after; after -> out",
        bad={"type": "code", "source": CORPUS[name], "failStrategy": "branch"},
        after={"type": "code", "source": "result = 'still here'"},
        out={"template": "{{bad.result?}}{{after.result}}"},
    )
    run = await _run(studio, graph)
    assert run.failure("bad").code in _ends(CORPUS[name])
    assert run.result == "still here"
    assert len(run.failure("bad").message) < 1_000


@pytest.mark.parametrize("name", sorted(CORPUS))
@pytest.mark.usefixtures("sandbox")
async def test_a_hostile_script_of_a_skill_is_an_error_to_its_agent(studio: Studio, name: str) -> None:
    studio.add_skill(Skill("s", "s", "Counts.", "Run it.", files=["run.py"], runs_scripts=True))
    studio.shelf.files["run.py"] = CORPUS[name]
    graph = studio.draw(
        "ask -> act -> out",
        act={"type": "smartAction", "instruction": "Go.", "skills": ["s"]},
        out={"template": "{{act.final_response}}"},
    )
    run = await _run(studio, graph, {"act": [{"tool": {"name": "run_script", "args": {"path": "run.py"}}}, "Done."]})
    assert run.result == "Done."
    (call,) = [call for call in run.calls if call.kind == "tool"]
    assert call.error is not None
    assert call.error.code in _ends(CORPUS[name])


async def test_however_many_programs_a_run_has_at_once_only_a_few_processes_run_them(studio: Studio) -> None:
    # given a run with twenty programs on one level, more than may run at once
    studio.sandbox = box = MontySandbox(limits=CodeLimits(seconds=0.5, grace_seconds=0.3, processes=2))
    names = [f"n{number}" for number in range(20)]
    graph = studio.draw(
        "; ".join(f"ask -> {name} -> out" for name in names),
        **{
            name: {"type": "code", "source": "total = 0\nfor n in range(200_000):\n    total += n\nresult = total"}
            for name in names
        },
        out={"template": "".join(f"{{{{{name}.result}}}} " for name in names)},
    )
    # when it runs
    running = asyncio.create_task(_run(studio, graph))
    most = 0
    while not running.done():
        most = max(most, len(_processes()))
        await asyncio.sleep(0.01)
    run = await running
    await box.close()
    # then each has its result, and there were never more processes than may be, but for one that is made ready
    assert str(run.result).split() == ["19999900000"] * 20
    assert 1 <= most <= 3
    assert _processes() == []


async def test_where_programs_are_switched_off_neither_a_node_nor_a_script_runs_one(studio: Studio) -> None:
    studio.sandbox = MontySandbox(is_on=False)
    studio.add_skill(Skill("s", "s", "Counts.", "Run it.", files=["run.py"], runs_scripts=True))
    studio.shelf.files["run.py"] = "result = 1"
    graph = studio.draw(
        "ask -> act -> node -> out; node -[error]-> out",
        act={"type": "smartAction", "instruction": "Go.", "skills": ["s"]},
        node={"type": "code", "source": "result = 1", "failStrategy": "branch"},
        out={"template": "{{act.final_response}}"},
    )
    run = await _run(studio, graph, {"act": [{"tool": {"name": "run_script", "args": {"path": "run.py"}}}, "Done."]})
    (call,) = [call for call in run.calls if call.kind == "tool"]
    assert call.error is not None
    assert (call.error.code, run.failure("node").code) == ("CODE_OFF", "CODE_OFF")
    assert _processes() == []


def _processes() -> list[str]:
    """The processes below this one that could run a program."""
    mine = str(os.getpid())
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, IndexError):
            if entry.name.isdecimal() and os.readlink(entry / "exe").endswith("/monty"):
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if parent == mine:
                    found.append(entry.name)
    return found
