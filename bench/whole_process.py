"""W7: what a whole process costs that starts, runs the smallest graph and ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.environments import FLYBACK, LANGGRAPH, PYDANTIC_GRAPH, ROOT, Environment

CASE = "W7 process"

_GRAPH = {
    "name": "hello",
    "mode": "DAG",
    "graphData": {
        "nodes": [
            {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "topic", "default": "tides"}]}},
            {"id": "say", "type": "template", "data": {"template": "On {{topic}}."}},
            {"id": "answer", "type": "output", "data": {"template": "{{say.text}}"}},
        ],
        "edges": [
            {"id": "e1", "source": "ask", "target": "say"},
            {"id": "e2", "source": "say", "target": "answer"},
        ],
    },
}
_HELLO = {
    LANGGRAPH: """
import sqlite3
from typing import TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
class State(TypedDict):
    x: int
graph = StateGraph(State)
graph.add_node("a", lambda state: {"x": 1})
graph.add_edge(START, "a")
graph.add_edge("a", END)
saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
graph.compile(checkpointer=saver).invoke({"x": 0}, {"configurable": {"thread_id": "1"}})
""",
    PYDANTIC_GRAPH: """
import asyncio
from pydantic_graph import GraphBuilder
graph = GraphBuilder(output_type=int)
async def work(ctx) -> int:
    return 1
step = graph.step(work, node_id="a")
graph.add(graph.edge_from(graph.start_node).to(step), graph.edge_from(step).to(graph.end_node))
asyncio.run(graph.build().run())
""",
}


def sample(environment: Environment) -> dict[str, float]:
    """Run the process once: seconds, CPU seconds and the most memory it had, in MB."""
    with tempfile.TemporaryDirectory(prefix="flyback-bench-") as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            _command(environment, Path(folder)), cwd=ROOT, stdout=subprocess.DEVNULL, env=_compiled_once()
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"The process of {environment.engine} ended with status {process.returncode}.")
    return {"wall": wall, "cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1000}


def _compiled_once() -> dict[str, str]:
    """An installed program is compiled once and not at every start, whatever this shell says."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _command(environment: Environment, folder: Path) -> Sequence[str]:
    if environment.engine != FLYBACK:
        return [str(environment.python), "-c", _HELLO[environment.engine]]
    file = folder / "hello.json"
    file.write_text(json.dumps(_GRAPH))
    return [str(Path(sys.executable).with_name("flyback")), "run", str(file), "--data", str(folder)]
