"""A process dies at each failpoint, one after the other; a fresh one finishes the run, and the tables are whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from kit.checker import faults
from kit.databases import BOTH, new_url
from kit.drawing import draw
from kit.durable import Job, Processes, tool_calls, tools_file
from kit.journals import begun, recorded_keys
from kit.studio import Answers, Data, script_of

_ASK: dict[str, JsonValue] = {"variables": [{"name": "topic", "required": True}]}
_MOST_POINTS = 150


@dataclass(frozen=True, slots=True)
class Case:
    run: dict[str, JsonValue]
    status: str
    at_once: int
    """How many model calls may be in flight when the process dies."""
    cancel_at_visits: int | None = None
    answers: dict[str, str] | None = None
    tool_calls: list[str] | None = None
    """The keys of the tool calls that may be made, without their places."""


def _agentic() -> Case:
    graph = draw("ask -> draft -> review -> answer", ask=_ASK, answer={"template": "{{draft.text}}"})
    route = ["draft", "review", "draft", "answer"]
    replies = {"draft": ["one", "two"], "review": ["too short"]}
    script = script_of(graph, route, replies)
    run: dict[str, JsonValue] = {
        "id": "run-agentic",
        "mode": "AGENTIC",
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script,
    }
    return Case(run, "SUCCESS", at_once=2)


def _dag() -> Case:
    graph = draw(
        "ask -> left; ask -> right; left -> join; right -> join; join -> answer",
        ask=_ASK,
        join={"type": "template", "template": "{{left.text}} {{right.text}}"},
        answer={"template": "{{join.text}}"},
    )
    script = script_of(graph, None, {"left": ["l"], "right": ["r"]})
    run: dict[str, JsonValue] = {
        "id": "run-dag",
        "mode": "DAG",
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script,
    }
    return Case(run, "SUCCESS", at_once=2)


def _cancelled(case: Case, waiting: str) -> Case:
    """The same, but a node never answers and somebody cancels."""
    parts = [
        part for part in cast("list[dict[str, JsonValue]]", case.run["script"]) if part["for"] != {"node": waiting}
    ]
    script: list[JsonValue] = [{"for": {"node": waiting}, "replies": [{"hang": True}], "repeatLast": True}, *parts]
    return replace(case, run={**case.run, "script": script}, status="CANCELLED", cancel_at_visits=2)


def _asking(mode: str) -> Case:
    """An agent that asks, beside (DAG) or before (AGENTIC) a form that a person fills in."""
    form: dict[str, JsonValue] = {"type": "humanInput", "form": [{"name": "word", "required": True}]}
    chains = (
        "ask -> act -> form -> answer"
        if mode == "AGENTIC"
        else "ask -> act; ask -> form; act -> answer; form -> answer"
    )
    graph = draw(
        chains,
        ask=_ASK,
        act={"type": "smartAction", "instruction": "Act on {{topic}}."},
        form=form,
        answer={"template": "{{act.final_response}} {{form.word}}"},
    )
    clarify: dict[str, JsonValue] = {"tool": {"name": "clarify", "args": {"question": "Which?"}}}
    unknown: dict[str, JsonValue] = {"tool": {"name": "no_such_tool", "args": {}}}
    script = script_of(
        graph,
        ["act", "form", "answer"] if mode == "AGENTIC" else None,
        {"act": [unknown, clarify, {"echoLastAnswer": "said "}]},
    )
    run: dict[str, JsonValue] = {
        "id": f"run-asking-{mode}",
        "mode": mode,
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script,
    }
    return Case(run, "SUCCESS", at_once=2, answers={"act": "this", "form": "that"})


def _approved(mode: str, said: str) -> Case:
    """A tool node and an agent, both with a tool that a person has to approve, one after the other or side by side."""
    chains = (
        "ask -> act -> use -> answer" if mode == "AGENTIC" else "ask -> act; ask -> use; act -> answer; use -> answer"
    )
    use: dict[str, JsonValue] = {"type": "tool", "server": "files", "tool": "write", "arguments": {"n": "{{topic}}"}}
    graph = draw(
        chains,
        ask=_ASK,
        act={"type": "smartAction", "instruction": "Act.", "mcpServers": ["files"]},
        use={**use, "failStrategy": "skip", "defaultOutput": "denied"},
        answer={"template": "{{act.final_response}} {{use.text}}"},
    )
    names = [*(f"files__{name}" for name in ("read", "write", "read")), "final_answer"]
    replies: list[Mapping[str, JsonValue]] = [
        {"tool": {"name": name, "args": {"final_response": "done"}}} for name in names
    ]
    route = ["act", "use", "answer"] if mode == "AGENTIC" else None
    script = script_of(graph, route, {"act": replies})
    # `write` is the agent's second call, and the node's first
    made = ["tool-1", "tool-2", "tool-3"] if said == "approve" else ["tool-1", "tool-3"]
    run: dict[str, JsonValue] = {
        "id": f"run-approved-{mode}-{said}",
        "mode": mode,
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script,
    }
    return Case(run, "SUCCESS", at_once=2, answers={"act": said, "use": said}, tool_calls=made)


def _inner(chains: str, planner: Sequence[str] | None, answers: Answers, **nodes: Data) -> dict[str, JsonValue]:
    """A graph file for a node to run."""
    graph = draw(chains, ask={"variables": [{"name": "topic"}, {"name": "item"}]}, **nodes)
    return {
        "name": "inner",
        "mode": "DAG" if planner is None else "AGENTIC",
        "graphData": cast("JsonValue", dict(graph.document)),
        "script": script_of(graph, planner, answers),
    }


def _outer(name: str, mode: str, node: Data, template: str) -> dict[str, JsonValue]:
    graph = draw("ask -> inner -> answer", ask=_ASK, inner=node, answer={"template": template})
    return {
        "id": f"run-{name}-{mode}",
        "mode": mode,
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script_of(graph, ["inner", "answer"] if mode == "AGENTIC" else None, ()),
    }


def _each(mode: str) -> Case:
    """Three items, two at once, by inner runs of the other mode."""
    inner = _inner(
        "ask -> work -> out",
        ["work", "out"] if mode == "DAG" else None,
        {"work": ["done"]},
        out={"template": "{{item}} {{work.text}}"},
    )
    node: Data = {
        "type": "iteration",
        "workflow": inner,
        "items": [1, "two", 3],
        "parallel": 2,
        "onItemError": "continue",
    }
    return Case(_outer("each", mode, node, "{{inner.results}}"), "SUCCESS", at_once=4)


def _inner_asking(mode: str) -> Case:
    """An inner run that asks, with a model call before it."""
    inner = _inner(
        "ask -> work -> form -> out",
        ["work", "form", "out"] if mode == "AGENTIC" else None,
        {"work": ["done"]},
        form={"type": "humanInput", "form": [{"name": "word", "required": True}]},
        out={"template": "{{work.text}} {{form.word}}"},
    )
    node: Data = {"type": "workflow", "workflow": inner, "inputs": {"topic": "{{topic}}"}}
    return Case(_outer("inner", mode, node, "{{inner.result}}"), "SUCCESS", at_once=2, answers={"form": "that"})


def _each_asking() -> Case:
    """Two items that ask, beside each other."""
    inner = _inner(
        "ask -> form -> out",
        None,
        (),
        form={"type": "humanInput", "form": [{"name": "word", "required": True}]},
        out={"template": "{{item}} {{form.word}}"},
    )
    node: Data = {"type": "iteration", "workflow": inner, "items": ["a", "b"], "parallel": 2}
    return Case(_outer("each-asking", "DAG", node, "{{inner.results}}"), "SUCCESS", at_once=2, answers={"form": "that"})


def _inner_cancelled(mode: str) -> Case:
    """Inner runs that never end, until somebody cancels the outer one."""
    inner = _inner("ask -> work -> out", None, {"work": [{"hang": True}]})
    node: Data = {"type": "iteration", "workflow": inner, "items": [1, 2], "parallel": 2}
    run = _outer("inner-cancelled", mode, node, "{{inner.results}}")
    return Case(run, "CANCELLED", at_once=4, cancel_at_visits=2)


CASES = {
    "agentic": _agentic(),
    "dag": _dag(),
    "agentic, cancelled": _cancelled(_agentic(), "draft"),
    "dag, cancelled": _cancelled(_dag(), "left"),
    "agentic, asking": _asking("AGENTIC"),
    "dag, asking": _asking("DAG"),
    "agentic, approved": _approved("AGENTIC", "approve"),
    "dag, approved": _approved("DAG", "approve"),
    "agentic, denied": _approved("AGENTIC", "deny"),
    "agentic, for each": _each("AGENTIC"),
    "dag, for each": _each("DAG"),
    "agentic, inner asking": _inner_asking("AGENTIC"),
    "dag, inner asking": _inner_asking("DAG"),
    "dag, each asking": _each_asking(),
    "agentic, inner cancelled": _inner_cancelled("AGENTIC"),
    "dag, inner cancelled": _inner_cancelled("DAG"),
}


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", CASES)
def test_given_a_death_at_any_point_when_a_fresh_process_goes_on_then_nothing_is_lost_and_nothing_done_twice(
    name: str, is_long: bool, processes: Processes, tmp_path: Path
) -> None:
    for kind in BOTH if is_long else ("sqlite",):
        points = 0
        for point in range(1, _MOST_POINTS):
            folder = tmp_path / f"{kind}-{point}"
            folder.mkdir()
            if not _dies_and_recovers(CASES[name], f"*=kill@{point}", processes, new_url(kind, folder), folder):
                break
            points = point
        assert 15 < points < _MOST_POINTS - 1


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("point", [2, 7, 12, 17])
def test_given_postgresql_and_a_death_when_a_fresh_process_goes_on_then_nothing_is_lost_and_nothing_done_twice(
    name: str, point: int, processes: Processes, tmp_path: Path
) -> None:
    assert _dies_and_recovers(CASES[name], f"*=kill@{point}", processes, new_url("postgresql", tmp_path), tmp_path)


def _dies_and_recovers(case: Case, failpoints: str, processes: Processes, url: str, folder: Path) -> bool:
    """Kill a process at a point, let another one finish, and check; False where the point was never reached."""
    journal = folder / "scripted.jsonl"
    job = Job(url, str(journal), [case.run], failpoints, case.cancel_at_visits, case.answers)
    died = processes.run(job)
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as conn:
        stored = recorded_keys(conn)
    asked, called = len(begun(journal)), len(tool_calls(tools_file(journal)))
    if died.killed:
        assert processes.run(replace(job, failpoints="")).code == 0
    with engine.connect() as conn:
        assert faults(conn, str(case.run["id"])) == []
        outermost = sa.text("SELECT status FROM workflow_runs WHERE root_run_id IS NULL")
        status = conn.execute(outermost).scalar_one()
        assert recorded_keys(conn) >= stored
    engine.dispose()
    assert status == case.status
    made = [str(call["key"]) for call in tool_calls(tools_file(journal))]
    assert not stored.intersection(made[called:]), f"a tool call that was stored was made again ({failpoints})"
    assert len(made) - len(set(made)) <= case.at_once
    expected = case.tool_calls
    assert expected is None or sorted({key.rpartition("/")[2] for key in made}) == expected
    again = [call.key for call in begun(journal)[asked:]]
    assert not stored.intersection(again), f"what was stored was asked again ({failpoints})"
    assert len(begun(journal)) - len({call.key for call in begun(journal)}) <= case.at_once
    return died.killed
