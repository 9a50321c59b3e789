"""LangGraph's workloads: without a saver, with the one in memory, and with its savers for SQLite and PostgreSQL in `sync` mode.

SQLite is measured twice: with the asynchronous saver, which is compared, and with the blocking one, which costs less for a
single run and holds the event loop while it writes.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

import aiosqlite
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from bench.case import TEXT_200, TEXT_500, Case, Facts, Ready, Sizes, scratch_folder, serve, text
from bench.postgres import empty_database

_LOOP_NODES = 5
_SLEEP_SECONDS = 0.02
_CONNECTIONS = 16
"""As many as Flyback takes."""

Saver = Any
Build = Callable[[Saver], Any]


def _merge(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    return {**before, **after} if before else dict(after)


class State(TypedDict, total=False):
    workspace: Annotated[dict[str, str], _merge]
    number: int


# The graphs. `blocking` nodes are plain functions, for the blocking saver.


def chain(saver: Saver = None, *, length: int, sleep_seconds: float = 0.0, blocking: bool = False) -> Any:
    graph = StateGraph(State)
    for place in range(length):
        written = {"workspace": {f"v{place}": text(place, TEXT_200)}}

        async def work(_: State, written: dict[str, Any] = written) -> dict[str, Any]:
            if sleep_seconds:
                await asyncio.sleep(sleep_seconds)
            return written

        def work_blocking(_: State, written: dict[str, Any] = written) -> dict[str, Any]:
            return written

        graph.add_node(f"n{place}", work_blocking if blocking else work)
        graph.add_edge(f"n{place - 1}" if place else START, f"n{place}")
    graph.add_edge(f"n{length - 1}", END)
    return graph.compile(checkpointer=saver)


def fan(saver: Saver = None, *, width: int) -> Any:
    graph = StateGraph(State)

    def writes(name: str, number: int) -> Any:
        async def work(_: State) -> dict[str, Any]:
            return {"workspace": {name: text(number, TEXT_200)}}

        return work

    names = [f"b{place}" for place in range(width)]
    graph.add_node("source", writes("source", width))
    graph.add_node("join", writes("join", width + 1))
    graph.add_edge(START, "source")
    for place, name in enumerate(names):
        graph.add_node(name, writes(name, place))
        graph.add_edge("source", name)
    graph.add_edge(names, "join")
    graph.add_edge("join", END)
    return graph.compile(checkpointer=saver)


def loop(saver: Saver = None, *, visits: int, variables: int, blocking: bool = False) -> Any:
    """Five nodes; each picks the next one while it runs, and writes one variable."""
    graph = StateGraph(State)
    names = [f"a{place}" for place in range(_LOOP_NODES)]

    def step(state: State, place: int) -> Command[str]:
        number = state.get("number", 0) + 1
        written = {f"v{(number - 1) % variables}": text(number, TEXT_500)}
        following = END if number >= visits else names[(place + 1 + number % 3) % _LOOP_NODES]
        return Command(update={"workspace": written, "number": number}, goto=following)

    for place, name in enumerate(names):

        async def work(state: State, place: int = place) -> Command[str]:
            return step(state, place)

        graph.add_node(name, partial(step, place=place) if blocking else work, destinations=(*names, END))
    graph.add_edge(START, names[0])
    return graph.compile(checkpointer=saver)


# Running them.


def _config(limit: int) -> Any:
    return {"configurable": {"thread_id": uuid.uuid4().hex}, "recursion_limit": limit}


async def _run(app: Any, *, limit: int = 1000, count: int = 1, **how: Any) -> None:
    if count == 1:
        await app.ainvoke({"workspace": {"in": "q"}}, _config(limit), **how)
    else:
        await asyncio.gather(*(app.ainvoke({"workspace": {"in": "q"}}, _config(limit), **how) for _ in range(count)))


def in_memory(build: Build, *, saver: Callable[[], Saver] | None, count: int = 1, limit: int = 1000) -> Any:
    app = build(None) if saver is None else None

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        # The saver in memory keeps every run, so each sample has its own.
        ready = app if saver is None else build(saver())
        yield Ready(partial(_run, ready, limit=limit, count=count))

    return opened


def on_sqlite(
    build: Build, *, sync: str, count: int = 1, limit: int = 1000, durability: str = "sync"
) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        async with scratch_folder() as folder, aiosqlite.connect(folder / "db.sqlite") as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            await connection.execute(f"PRAGMA synchronous = {sync}")
            app = build(saver)
            work = partial(_run, app, limit=limit, count=count, durability=durability)
            yield Ready(work, partial(_size, folder / "db.sqlite"))

    return opened


def on_postgres(build: Build, *, count: int = 1) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    how = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}

    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        async with (
            empty_database() as url,
            AsyncConnectionPool(url, min_size=1, max_size=_CONNECTIONS, open=False, kwargs=how) as pool,
        ):
            saver = AsyncPostgresSaver(pool)
            await saver.setup()
            yield Ready(partial(_run, build(saver), count=count, durability="sync"))

    return opened


def on_sqlite_blocking(
    build: Build, *, sync: str, limit: int = 1000
) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        async with scratch_folder() as folder:
            connection = sqlite3.connect(folder / "db.sqlite", check_same_thread=False)
            saver = SqliteSaver(connection)
            saver.setup()
            connection.execute(f"PRAGMA synchronous = {sync}")
            app = build(saver)

            async def work() -> None:
                app.invoke({"workspace": {"in": "q"}}, _config(limit), durability="sync")

            yield Ready(work)
            connection.close()

    return opened


async def _size(file: Path) -> Facts:
    return await asyncio.to_thread(_size_bytes, file)


def _size_bytes(file: Path) -> Facts:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return {"bytes": file.stat().st_size}


def on_listing(runs: int) -> Callable[[], AbstractAsyncContextManager[Ready]]:
    @asynccontextmanager
    async def opened() -> AsyncGenerator[Ready]:
        async with scratch_folder() as folder, aiosqlite.connect(folder / "db.sqlite") as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            await connection.execute("PRAGMA synchronous = OFF")
            app = chain(saver, length=1)
            for begun in range(0, runs, 500):
                await _run(app, count=min(500, runs - begun), durability="exit")

            async def newest() -> int:
                return len([found async for found in saver.alist(None, limit=50)])

            yield Ready(newest)

    return opened


def _stored(workload: str, units: int, build: Callable[..., Any], *, count: int = 1) -> list[Case]:
    cases: list[Case] = []
    for name, sync in (("full", "FULL"), ("normal", "NORMAL")):
        cases.append(Case(f"{workload} {name}", units, on_sqlite(build, sync=sync, count=count)))
        if count == 1 and workload != "W2":
            blocking = partial(build, blocking=True)
            cases.append(Case(f"{workload} {name} blocking", units, on_sqlite_blocking(blocking, sync=sync)))
    return cases


def cases(sizes: Sizes) -> list[Case]:
    long_chain = partial(chain, length=sizes.chain)
    wide = partial(fan, width=sizes.fan)
    circle = partial(loop, visits=sizes.visits, variables=sizes.visits)
    short = partial(chain, length=10)
    slow = partial(chain, length=10, sleep_seconds=_SLEEP_SECONDS)
    many = sizes.runs
    found = [
        Case("W1 bare", sizes.chain, in_memory(long_chain, saver=None)),
        Case("W1 memory", sizes.chain, in_memory(long_chain, saver=InMemorySaver)),
        *_stored("W1", sizes.chain, long_chain),
        Case("W2 bare", sizes.fan + 2, in_memory(wide, saver=None)),
        Case("W2 memory", sizes.fan + 2, in_memory(wide, saver=InMemorySaver)),
        *_stored("W2", sizes.fan + 2, wide),
        Case("W3 bare", sizes.visits, in_memory(circle, saver=None)),
        Case("W3 memory", sizes.visits, in_memory(circle, saver=InMemorySaver)),
        *_stored("W3", sizes.visits, circle),
        Case("W3 postgres", sizes.visits, on_postgres(circle)),
        Case("W4 memory", many, in_memory(short, saver=InMemorySaver, count=many)),
        *_stored("W4", many, short, count=many),
        Case("W4 postgres", many, on_postgres(short, count=many)),
        Case("W5 memory", many * 10, in_memory(slow, saver=InMemorySaver, count=many)),
        Case("W5 full", many * 10, on_sqlite(slow, sync="FULL", count=many)),
    ]
    for visits, variables in sizes.growth:
        growing = partial(loop, visits=visits, variables=variables)
        opened = on_sqlite(growing, sync="NORMAL", limit=visits + 10)
        found.append(Case(f"W6 normal {visits}/{variables}", visits, opened))
    found.append(Case("W8 full", 1, on_listing(sizes.listed)))
    return found


if __name__ == "__main__":
    serve(cases(Sizes.of(sys.argv)))
