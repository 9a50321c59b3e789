"""Flyback's workloads: the real engine on the log in memory and on the ledger, with a model that answers at once.

What the model stands in for is the provider alone: every prompt is built, every answer read, every call recorded. The
loop's nodes are of a type that exists only here, since one that writes under another name each time is nobody's wish.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import final

import sqlalchemy as sa
from pydantic import JsonValue

from bench.case import TEXT_200, TEXT_500, Case, Facts, Ready, Sizes, scratch_folder, serve, text
from bench.postgres import empty_database
from flyback.domain.graph import Graph
from flyback.domain.graph_file import read_graph
from flyback.domain.run import Mode, RunId, RunStatus, Usage
from flyback.engine.closed import ClosedSkills, Unwatched
from flyback.engine.drive import drive
from flyback.engine.log import RunLog, RunOptions
from flyback.engine.nodes.base import Data, NodeConfig, NodeType
from flyback.engine.nodes.context import NodeContext
from flyback.engine.parts import Engine
from flyback.engine.ports import ChatReply, ChatRequest, LiveSink
from flyback.providers.system import RandomIds, SystemClock, SystemDice
from flyback.services.actor import Actor
from flyback.services.run_views import RunViews
from flyback.storage.database import Database, Durability
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger, NewRun
from flyback.storage.memory_log import MemoryLog
from flyback.storage.run_reads import RunFilter

_LOOP_NODES = 5
_SLEEP_SECONDS = 0.02
_OWNER = Actor("bench", "bench", "admin", "local", "bench")
_USED = Usage(input_tokens=1000, output_tokens=10, calls=1)


class StepConfig(NodeConfig):
    variables: int = 50


@final
class StepNode(
    NodeType[StepConfig],
    type="benchStep",
    category="data",
    icon="text",
    title={"en": "Step", "zh-CN": "步骤"},
    summary={"en": "Writes one variable of 500 bytes.", "zh-CN": "写入一个变量。"},
    waits=False,
):
    async def execute(self, config: StepConfig, ctx: NodeContext) -> Data:
        assert ctx.visit is not None, "the loop is AGENTIC"
        number = ctx.visit.number
        return {f"v{(number - 1) % config.variables}": text(number, TEXT_500)}


class InstantModel:
    """Answers at once, or after a fixed time. Asked by the planner it names the next node by the visit's number."""

    name = "instant"
    has_price = False
    decider = None

    def __init__(self, *, visits: int = 0, seconds: float = 0.0) -> None:
        self._visits = visits
        self._seconds = seconds

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        site = request.site
        answer = self._decision(site.position + 1, site.node_id) if site.role == "planner" else text(0, TEXT_200)
        yield answer
        yield ChatReply(answer, "stop", _USED, self.name)

    def _decision(self, number: int, current: str) -> str:
        place = int(current[1:])
        following = "end" if number >= self._visits - 1 else f"a{(place + 1 + number % 3) % _LOOP_NODES}"
        return f'{{"next": "{following}", "reason": "Round {number} goes on there."}}'


@dataclass(frozen=True, slots=True)
class _Models:
    model: InstantModel

    async def find(self, name: str, *, owner_id: str) -> InstantModel:
        return self.model


# The graphs.


@dataclass(frozen=True, slots=True)
class Workload:
    graph: Graph
    mode: Mode
    model: InstantModel
    count: int = 1
    """How many runs at the same time."""
    max_visits: int = 50

    @property
    def options(self) -> RunOptions:
        return RunOptions(default_model="instant", max_visits=self.max_visits)


def _graph(nodes: Sequence[JsonValue], edges: Sequence[tuple[str, str]]) -> Graph:
    drawn: list[JsonValue] = [
        {"id": f"e{place}", "source": source, "target": target} for place, (source, target) in enumerate(edges)
    ]
    graph, faults = read_graph({"nodes": list(nodes), "edges": drawn})
    assert not faults, f"a graph of the benchmark has faults: {faults}"
    return graph


def _saying(names: Sequence[str]) -> list[JsonValue]:
    """Nodes that give a text of their own and do nothing else; the last one is the run's output."""
    return [
        {
            "id": name,
            "type": "output" if place == len(names) - 1 else "template",
            "data": {"template": text(place, TEXT_200)},
        }
        for place, name in enumerate(names)
    ]


def chain(length: int, *, count: int = 1) -> Workload:
    names = [f"n{place}" for place in range(length)]
    return Workload(_graph(_saying(names), list(pairwise(names))), Mode.DAG, InstantModel(), count)


def calling_chain(length: int, *, count: int) -> Workload:
    """A chain of model calls of 20 ms each."""
    names = [f"n{place}" for place in range(length)]
    nodes: list[JsonValue] = [
        {"id": name, "type": "llm", "data": {"userPrompt": text(place, TEXT_200)}} for place, name in enumerate(names)
    ]
    nodes.append({"id": "end", "type": "output", "data": {}})
    names.append("end")
    model = InstantModel(seconds=_SLEEP_SECONDS)
    return Workload(_graph(nodes, list(pairwise(names))), Mode.DAG, model, count)


def fan(width: int) -> Workload:
    names = [f"b{place}" for place in range(width)]
    nodes = _saying(["source", *names, "join"])
    edges = [*(("source", name) for name in names), *((name, "join") for name in names)]
    return Workload(_graph(nodes, edges), Mode.DAG, InstantModel())


def loop(visits: int, variables: int) -> Workload:
    """Five nodes, drawn as a chain; the model sends the run to and fro, and to the end on the last visit."""
    names = [f"a{place}" for place in range(_LOOP_NODES)]
    nodes: list[JsonValue] = [{"id": name, "type": "benchStep", "data": {"variables": variables}} for name in names]
    nodes.append({"id": "end", "type": "output", "data": {"template": "done"}})
    edges = list(zip(names, [*names[1:], "end"], strict=True))
    return Workload(_graph(nodes, edges), Mode.AGENTIC, InstantModel(visits=visits), max_visits=visits)


# Running them.


def _engine(log: RunLog, live: LiveSink, model: InstantModel) -> Engine:
    return Engine(SystemClock(), RandomIds(), SystemDice(), log, _Models(model), ClosedSkills(), live)


def in_memory(workload: Workload) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        log = MemoryLog(SystemClock())
        engine = _engine(log, Unwatched(), workload.model)

        async def one() -> None:
            run_id = RunId(engine.ids.new())
            log.accept(run_id, workload.graph, mode=workload.mode, options=workload.options, inputs={"in": "q"})
            await drive(engine, run_id, 0)
            end = log.run(run_id).end
            assert end is not None, "the run did not end"
            assert end.status is RunStatus.SUCCESS, f"the run went wrong: {end}"

        yield Ready(partial(_many, one, workload.count))

    return opened


def on_sqlite(workload: Workload, durability: Durability) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        async with scratch_folder() as folder:
            file = folder / "flyback.sqlite"
            database = await Database.open(f"sqlite:///{file}", durability=durability)
            empty_bytes = await _used_bytes(database)

            async def facts() -> Facts:
                return {**await database.read(_stored), "bytes": await _used_bytes(database) - empty_bytes}

            try:
                yield Ready(_stored_work(workload, database), facts)
            finally:
                await database.close()

    return opened


def on_postgres(workload: Workload) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        async with empty_database() as url:
            database = await Database.open(url)

            async def check() -> Facts:
                await database.read(_all_ended)
                return {}

            try:
                yield Ready(_stored_work(workload, database), check)
            finally:
                await database.close()

    return opened


def _stored_work(workload: Workload, database: Database) -> Callable[[], Awaitable[None]]:
    hub = Hub()
    ledger = Ledger(database, hub, clock=SystemClock(), worker_id="bench")
    engine = _engine(ledger, hub, workload.model)

    async def one() -> None:
        run = _new_run(RunId(engine.ids.new()), workload)
        await database.write(lambda conn: ledger.accept_in(conn, run))
        await drive(engine, run.run_id, 0)

    return partial(_many, one, workload.count)


def _new_run(run_id: RunId, workload: Workload) -> NewRun:
    return NewRun(run_id, _OWNER.owner_id, workload.mode, workload.graph, {"in": "q"}, workload.options)


async def _many(one: Callable[[], Awaitable[None]], count: int) -> None:
    if count == 1:
        await one()
    else:
        await asyncio.gather(*(one() for _ in range(count)))


def _stored(conn: sa.Connection) -> Facts:
    """What of the bytes are outputs and snapshots."""
    _all_ended(conn)
    outputs, snapshots = conn.exec_driver_sql(
        "SELECT total(length(output_json)), total(length(variables_json)) FROM workflow_run_visits"
    ).one()
    return {"outputs": float(outputs), "snapshots": float(snapshots)}


def _all_ended(conn: sa.Connection) -> None:
    open_runs = conn.exec_driver_sql("SELECT count(*) FROM workflow_runs WHERE status <> 'SUCCESS'").scalar_one()
    assert not open_runs, f"{open_runs} runs went wrong"


async def _used_bytes(database: Database) -> int:
    def work(conn: sa.Connection) -> int:
        page_bytes: int = conn.exec_driver_sql("PRAGMA page_size").scalar_one()
        pages: int = conn.exec_driver_sql("PRAGMA page_count").scalar_one()
        return page_bytes * pages

    return await database.read(work)


def on_listing(runs: int) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    """The newest 50 of many runs, as the list of runs asks for them."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        async with scratch_folder() as folder:
            file = folder / "flyback.sqlite"
            await fill_with_runs(file, _OWNER.owner_id, runs)
            database = await Database.open(f"sqlite:///{file}", durability="normal")
            views = RunViews(database)
            try:
                await views.list_runs(_OWNER, RunFilter(), cursor=None, limit=50)
                yield Ready(partial(views.list_runs, _OWNER, RunFilter(), cursor=None, limit=50))
            finally:
                await database.close()

    return opened


async def fill_with_runs(file: Path, owner_id: str, runs: int) -> None:
    """Put runs of somebody that have ended into a database."""
    database = await Database.open(f"sqlite:///{file}", durability="normal")
    ledger = Ledger(database, Hub(), clock=SystemClock(), worker_id="bench")
    workload, ids = chain(1), RandomIds()

    def accept(conn: sa.Connection) -> None:
        for _ in range(runs):
            ledger.accept_in(conn, replace(_new_run(RunId(ids.new()), workload), owner_id=owner_id))

    await database.write(accept)
    await database.close()
    with sqlite3.connect(file) as connection:
        connection.execute(
            "UPDATE workflow_runs SET status = 'SUCCESS', finished_at = created_at WHERE status = 'PENDING'"
        )
    connection.close()


def _stored_ways(workload: str, units: int, made: Workload) -> list[Case]:
    return [
        Case(f"{workload} memory", units, in_memory(made)),
        Case(f"{workload} full", units, on_sqlite(made, "full")),
        Case(f"{workload} normal", units, on_sqlite(made, "normal")),
    ]


def cases(sizes: Sizes) -> list[Case]:
    found = [
        *_stored_ways("W1", sizes.chain, chain(sizes.chain)),
        *_stored_ways("W2", sizes.fan + 2, fan(sizes.fan)),
        *_stored_ways("W3", sizes.visits, loop(sizes.visits, sizes.visits)),
        Case("W3 postgres", sizes.visits, on_postgres(loop(sizes.visits, sizes.visits))),
        *_stored_ways("W4", sizes.runs, chain(10, count=sizes.runs)),
        Case("W4 postgres", sizes.runs, on_postgres(chain(10, count=sizes.runs))),
        Case("W5 memory", sizes.runs * 10, in_memory(calling_chain(10, count=sizes.runs))),
        Case("W5 full", sizes.runs * 10, on_sqlite(calling_chain(10, count=sizes.runs), "full")),
    ]
    for visits, variables in sizes.growth:
        name = f"W6 normal {visits}/{variables}"
        found.append(Case(name, visits, on_sqlite(loop(visits, variables), "normal")))
    found.append(Case("W8 full", 1, on_listing(sizes.listed)))
    return found


if __name__ == "__main__":
    serve(cases(Sizes.of(sys.argv)))
