"""Processes that drive runs on a real database and may be killed at any point.

`Processes` is the test's side. It starts this module as a program once, which loads everything and then forks: each job is
a process of its own with its own failpoints, and costs milliseconds instead of the seconds of a cold start.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal, cast
from uuid import uuid4

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.dispatch.local import LocalDispatcher
from flyback.domain.answering import Given
from flyback.domain.graph_file import read_graph
from flyback.domain.run import Mode, RunId
from flyback.engine import failpoints
from flyback.engine.closed import ClosedSkills, ClosedTools
from flyback.engine.log import RunOptions
from flyback.engine.parts import Engine
from flyback.engine.ports import CallSite, ChatModel, Clock, Tool, ToolAnswer, Tools
from flyback.engine.watch import Watch, Watches
from flyback.providers.agents.builtin import BuiltinRuntime
from flyback.providers.scripted import CallJournal, FileJournal, Gate, ScriptedModel
from flyback.providers.system import RandomIds, SystemClock, SystemDice
from flyback.storage import tables as t
from flyback.storage.database import Database
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger, NewRun, SubRunLedger
from kit.drawing import draw
from kit.forks import forked
from kit.subscriptions import next_within

Json = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Job:
    """What one process is to do: take in the runs that are not there yet, and drive every open one to its end."""

    url: str
    journal: str
    runs: Sequence[Mapping[str, JsonValue]]
    """Each `{id, mode, graph, inputs, script}`; of a fork also `fork`, as `kit.forks` reads it."""
    failpoints: str = ""
    cancel_at_visits: int | None = None
    """Cancel every open run as soon as it has so many visits or nodes."""
    answers: Mapping[str, str] | None = None
    """Node to what a person answers it, as soon as it asks."""
    queue: bool = False
    """Work with the distributed queue, and stop in order on SIGTERM."""


@dataclass(frozen=True, slots=True)
class Died:
    """How a process ended."""

    code: int
    """Its exit code, or minus the signal that ended it."""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Processes:
    """Use it as a context. A job runs in a fresh process."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[str]

    def __enter__(self) -> Processes:
        here = Path(__file__).parents[1]
        environment = {**os.environ, "PYTHONPATH": f"{here}{os.pathsep}{here.parent / 'src'}"}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "kit.durable"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._input.close()
        self._server.wait(timeout=20)
        self._output.close()

    def run(self, job: Job) -> Died:
        """Run a job to the end of its process."""
        self._say({"run": asdict(job)})
        return Died(cast("int", self._hear()["code"]))

    def start(self, job: Job) -> int:
        """Start a job and return its process id; `wait` tells how it ended."""
        self._say({"start": asdict(job)})
        return cast("int", self._hear()["pid"])

    def wait(self, pid: int) -> Died:
        self._say({"wait": pid})
        return Died(cast("int", self._hear()["code"]))

    @property
    def _input(self) -> IO[str]:
        assert self._server.stdin is not None
        return self._server.stdin

    @property
    def _output(self) -> IO[str]:
        assert self._server.stdout is not None
        return self._server.stdout

    def _say(self, what: Mapping[str, object]) -> None:
        self._input.write(json.dumps(what) + "\n")
        self._input.flush()

    def _hear(self) -> Mapping[str, JsonValue]:
        return json.loads(self._output.readline())


# In the process.


async def _in_a_call(site: CallSite) -> None:
    failpoints.hit(f"call.{site.run_id}.{site.role}")


class _OneModel:
    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def find(self, name: str, *, owner_id: str) -> ChatModel:
        return self._model


class ToolsOnFile:
    """Tools whose calls stand in a file, whatever becomes of the process. A person is asked before `write`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def of(self, server: str, *, owner_id: str) -> Sequence[Tool]:
        schema: Mapping[str, JsonValue] = {"type": "object", "properties": {}}
        return [Tool(server, name, f"The {name}.", schema) for name in ("read", "write")]

    async def asks_before(self, server: str, tool: str, *, owner_id: str) -> bool:
        return tool == "write"

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, JsonValue],
        *,
        owner_id: str,
        key: str,
    ) -> ToolAnswer:
        called = json.dumps({"tool": tool, "arguments": dict(arguments), "key": key})
        with self._file.open("a") as file:
            file.write(called + "\n")
        failpoints.hit("tool.called")
        return ToolAnswer(f"{tool} is done", None)


def tools_file(journal: Path) -> Path:
    return journal.with_suffix(".tools")


def tool_calls(file: Path) -> list[Mapping[str, JsonValue]]:
    """Every tool call that was made, in order, also those that a kill interrupted."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@dataclass(slots=True)
class Workshop:
    """Everything that drives runs on a database, wired as the product does it."""

    database: Database
    hub: Hub
    ledger: Ledger
    engine: Engine

    @classmethod
    async def open(
        cls, url: str, journal: Path, *, worker_id: str | None = None, clock: Clock | None = None
    ) -> Workshop:
        database = await Database.open(url, durability="normal")  # nobody pulls the plug here
        tools = ToolsOnFile(tools_file(journal))
        return cls.on(database, FileJournal(journal), worker_id=worker_id, clock=clock, tools=tools)

    @classmethod
    def on(
        cls,
        database: Database,
        journal: CallJournal,
        *,
        worker_id: str | None = None,
        clock: Clock | None = None,
        gate: Gate | None = None,
        ledger_type: type[Ledger] = Ledger,
        tools: Tools | None = None,
        watch: Watch | None = None,
    ) -> Workshop:
        clock, hub = clock or SystemClock(), Hub()
        ledger = ledger_type(database, hub, clock=clock, worker_id=worker_id or str(uuid4()))
        model = ScriptedModel(clock=clock, journal=journal, gate=gate or _in_a_call)
        engine = Engine(
            clock=clock,
            ids=RandomIds(),
            dice=SystemDice(),
            log=ledger,
            models=_OneModel(model),
            skills=ClosedSkills(),
            live=hub,
            sub_runs=SubRunLedger(ledger),
            agents={"builtin": BuiltinRuntime()},
            tools=tools or ClosedTools(),
            watch=watch or Watches(),
        )
        return cls(database, hub, ledger, engine)


def new_run(given: Mapping[str, JsonValue]) -> NewRun:
    graph, found = read_graph(given["graph"])
    assert not found, found
    return NewRun(
        run_id=RunId(cast("str", given["id"])),
        owner_id="local",
        mode=Mode(cast("str", given["mode"])),
        graph=graph,
        inputs=cast("Mapping[str, JsonValue]", given["inputs"]),
        options=RunOptions(default_model="scripted", script=given["script"]),
    )


async def _do(job: Job) -> None:
    workshop = await Workshop.open(job.url, Path(job.journal))
    if job.queue:
        await _work_with_queue(workshop, job)
    else:
        await _work_alone(workshop, job)
    await workshop.database.close()


async def _accept(workshop: Workshop, job: Job) -> list[RunId]:
    """Take in the runs that are not there yet, and return them."""
    asked = sa.select(t.workflow_runs.c.run_uuid)
    known = await workshop.database.read(lambda conn: set(conn.execute(asked).scalars()))
    new = [run for run in job.runs if run["id"] not in known]
    for run in new:
        await workshop.database.write(partial(_accept_one, workshop, run))
        failpoints.hit("accept.after")
    return [RunId(cast("str", run["id"])) for run in new]


def _accept_one(workshop: Workshop, given: Mapping[str, JsonValue], conn: sa.Connection) -> int:
    run, fork = new_run(given), given.get("fork")
    return workshop.ledger.accept_in(conn, run if fork is None else forked(conn, run, cast("Json", fork)))


async def _work_alone(workshop: Workshop, job: Job) -> None:
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    await dispatcher.start()
    await _accept(workshop, job)
    left = await workshop.ledger.open_runs()
    for run in left:
        await dispatcher.launch(run.run_id, run.segment)
    if job.answers is not None:
        await _answer_all(workshop, dispatcher, job.answers)
    if job.cancel_at_visits is not None:
        for run in left:
            await _begun(workshop, run.run_id, job.cancel_at_visits)
            await workshop.ledger.cancel(run.run_id, by="somebody")
            await dispatcher.cancel_live(run.run_id)
    for run in left:
        await dispatcher.finished(run.run_id)
    await dispatcher.stop()


async def _answer_all(workshop: Workshop, dispatcher: LocalDispatcher, answers: Mapping[str, str]) -> None:
    """Answer whatever is asked until every run has its end."""
    unended = sa.select(t.workflow_runs.c.run_uuid).where(t.workflow_runs.c.finished_at.is_(None))
    while open_runs := await workshop.database.read(lambda conn: conn.execute(unended).scalars().all()):
        for run_id in open_runs:
            await dispatcher.finished(RunId(run_id))
        for pause_id, node_id, kind in await workshop.database.read(_open_pauses):
            said = answers[node_id]
            given = Given(action=said) if kind == "approval" else Given(answer=said)
            settled = await workshop.ledger.answer(pause_id, given, owner_id="local", by="somebody")
            if settled.segment is not None:
                await dispatcher.launch(settled.run_id, settled.segment)


def _open_pauses(conn: sa.Connection) -> list[tuple[str, str, str]]:
    p = t.workflow_pauses.c
    asked = sa.select(p.id, p.node_id, p.kind).where(p.status == "OPEN", p.kind != "subRun")
    found = conn.execute(asked)
    return [(row.id, row.node_id, row.kind) for row in found]


async def _work_with_queue(workshop: Workshop, job: Job) -> None:
    from flyback.dispatch.dbos_dispatcher import DbosDispatcher

    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    dispatcher = DbosDispatcher(workshop.engine, workshop.ledger, workshop.database, lease_seconds=1.5)
    await dispatcher.start()
    for run_id in await _accept(workshop, job):
        await dispatcher.launch(run_id, 0)
    while not told.is_set() and await workshop.database.persist(workshop.ledger.open_runs):
        with suppress(TimeoutError):
            await asyncio.wait_for(told.wait(), 0.02)
    await dispatcher.stop(grace_seconds=1)


async def _begun(workshop: Workshop, run_id: RunId, count: int) -> None:
    """Wait until a run has so many visits or nodes, or its end."""
    with workshop.hub.subscribe(run_id) as subscription:
        while True:
            events = await workshop.ledger.events_after(run_id, 0, limit=10_000)
            running = {event.data_json for event in events if '"status":"RUNNING"' in event.data_json}
            ended = any(event.type in {"workflow_complete", "workflow_error", "run_cancelled"} for event in events)
            if ended or len(running) >= count:
                return
            await next_within(subscription, 1)


# The program that forks.

_Asked = Literal["run", "start", "wait"]


def _serve() -> None:
    _warm_up()
    for line in sys.stdin:
        asked: dict[_Asked, JsonValue] = json.loads(line)
        if "wait" in asked:
            answer: dict[str, JsonValue] = {"code": _code_of(cast("int", asked["wait"]))}
        elif "start" in asked:
            answer = {"pid": _fork(asked["start"])}
        else:
            answer = {"code": _code_of(_fork(asked["run"]))}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _warm_up() -> None:
    """Drive a run once, so that whatever is made at first use is there in every fork."""
    graph = draw("ask -> answer", ask={"variables": []})
    run: dict[str, JsonValue] = {
        "id": "warm-up",
        "mode": "DAG",
        "graph": dict(graph.document),
        "inputs": {},
        "script": None,
    }
    with TemporaryDirectory() as folder:
        asyncio.run(_do(Job(f"sqlite:///{folder}/flyback.db", f"{folder}/scripted.jsonl", [run])))


def _fork(given: JsonValue) -> int:
    if cast("dict[str, JsonValue]", given)["queue"]:
        importlib.import_module("flyback.dispatch.queue")  # takes seconds: once, and not in every process
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        job = Job(**cast("dict[str, Any]", given))
        failpoints.arm(job.failpoints)
        asyncio.run(_do(job))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    _serve()
