"""A studio to run graphs in: the real engine on the log in memory, a scripted model, and time that stands still."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from flyback.domain.answering import Given
from flyback.domain.decision import Decision
from flyback.domain.errors import ModelUnknownError, NotFoundError, SkillFileError, SkillNotFoundError
from flyback.domain.events import EventType, LiveText
from flyback.domain.graph import Graph, NodeId
from flyback.domain.inputs import read_queued_inputs
from flyback.domain.pause import Pause, PauseStatus
from flyback.domain.run import Budget, ErrorInfo, Mode, RunId, RunStatus, StepStatus, VersionChoice
from flyback.domain.structure import topological_order
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace
from flyback.engine.closed import ClosedEgress, ClosedSandbox, ClosedTools
from flyback.engine.drive import drive
from flyback.engine.limits import RunLimits
from flyback.engine.log import CallRecord, NodeRecord, RunEnd, RunLog, RunOptions
from flyback.engine.parts import Engine
from flyback.engine.ports import AgentRuntime, CallSite, ChatModel, Egress, FoundWorkflow, Sandbox, Skill, Tools
from flyback.providers.agents.builtin import BuiltinRuntime
from flyback.providers.scripted import MemoryJournal, ScriptedCall, ScriptedModel
from flyback.storage.memory_log import MemoryLog
from flyback.storage.memory_run import MemoryRun
from kit.clock import CountingIds, FixedDice, HandClock
from kit.drawing import Data, draw

Reply = str | Mapping[str, JsonValue]
Answers = Sequence[Reply] | Mapping[str, Reply | Sequence[Reply]]

_ASKING = frozenset({"llm", "agent", "skill", "condition", "smartAction"})


@dataclass(frozen=True, slots=True)
class SeenEvent:
    seq: int
    type: EventType
    data: Mapping[str, JsonValue]

    @property
    def node(self) -> str:
        return cast("str", self.data.get("nodeId", ""))

    @property
    def short(self) -> str:
        """`A RUNNING` for a node's status, else the type."""
        return f"{self.node} {self.data['status']}" if self.type is EventType.NODE_STATUS else self.type.value


@dataclass(frozen=True, slots=True)
class SeenVisit:
    """A visit with the workspace after it."""

    visit: Visit
    workspace: Workspace

    @property
    def node_id(self) -> str:
        return self.visit.node_id

    @property
    def iter_seq(self) -> int:
        return self.visit.iter_seq

    @property
    def from_node_id(self) -> str | None:
        return self.visit.from_node_id

    @property
    def is_fly_back(self) -> bool:
        return self.visit.is_fly_back

    @property
    def status(self) -> StepStatus:
        return self.visit.status

    @property
    def decision(self) -> Decision | None:
        return self.visit.decision

    @property
    def error(self) -> ErrorInfo | None:
        return self.visit.error

    @property
    def data(self) -> Mapping[str, JsonValue]:
        return self.visit.envelope.data if self.visit.envelope else {}

    @property
    def meta(self) -> Mapping[str, JsonValue]:
        return self.visit.envelope.meta if self.visit.envelope else {}


class SeenRun:
    """A run as a test looks at it."""

    def __init__(self, run: MemoryRun, log: MemoryLog, studio: Studio) -> None:
        self.raw = run
        self._log = log
        self._studio = studio

    @property
    def status(self) -> RunStatus:
        return self.raw.status

    @property
    def end(self) -> RunEnd:
        assert self.raw.end is not None, "the run has no end"
        return self.raw.end

    @property
    def error(self) -> ErrorInfo:
        assert self.end.error is not None, "the run did not fail"
        return self.end.error

    @property
    def result(self) -> object:
        """The result of the only output node that ran."""
        (output,) = self.end.outputs
        return output.result

    @property
    def results(self) -> Mapping[str, object]:
        return {output.node_id: output.result for output in self.end.outputs}

    @property
    def events(self) -> list[SeenEvent]:
        stored = self._log.events_of(self.raw.run_id)
        return [SeenEvent(event.seq, event.type, json.loads(event.data_json)) for event in stored]

    @property
    def story(self) -> list[str]:
        """The events in short."""
        return [event.short for event in self.events]

    def events_of(self, kind: EventType) -> list[SeenEvent]:
        return [event for event in self.events if event.type is kind]

    @property
    def visits(self) -> list[SeenVisit]:
        return [SeenVisit(visit, self.raw.workspace_after(visit.visit_id)) for visit in self.raw.visits]

    def visits_of(self, node_id: str) -> list[SeenVisit]:
        return [visit for visit in self.visits if visit.node_id == node_id]

    @property
    def path(self) -> list[str]:
        """The nodes visited, in order."""
        return [visit.node_id for visit in self.raw.visits]

    def node(self, node_id: str) -> NodeRecord:
        return self.raw.nodes[NodeId(node_id)]

    def failure(self, node_id: str) -> ErrorInfo:
        error = self.node(node_id).error
        assert error is not None, f"{node_id} did not fail"
        return error

    def meta(self, node_id: str) -> Mapping[str, JsonValue]:
        envelope = self.node(node_id).envelope
        assert envelope is not None, f"{node_id} gave nothing"
        return envelope.meta

    def output(self, node_id: str) -> Mapping[str, JsonValue]:
        envelope = self.node(node_id).envelope
        assert envelope is not None, f"{node_id} gave nothing"
        return envelope.data

    @property
    def statuses(self) -> Mapping[str, str]:
        """Every node's status; PENDING for one that never started."""
        nodes = self.raw.nodes
        return {
            node.id: nodes[node.id].status.value if node.id in nodes else StepStatus.PENDING.value
            for node in self.raw.graph.runnable
        }

    @property
    def pauses(self) -> list[Pause]:
        return list(self.raw.pauses.values())

    @property
    def calls(self) -> Sequence[CallRecord]:
        return self.raw.calls

    def prompts_of(self, node_id: str, *, role: str = "node") -> list[str]:
        """What the user part of each prompt said, in order."""
        return [call.prompt[-1].text for call in self.asked(node_id, role=role)]

    def asked(self, node_id: str, *, role: str = "node") -> list[ScriptedCall]:
        """The calls that the model has seen."""
        return [
            call
            for call in self._studio.journal.calls
            if call.run_id == self.raw.run_id and call.node_id == node_id and call.role == role
        ]


class Shelf:
    """Model entries by name, skills by folder: what a test put there."""

    def __init__(self, models: Mapping[str, ChatModel]) -> None:
        self.models = dict(models)
        self.skills: dict[str, Skill] = {}
        self.workflows: dict[str, FoundWorkflow] = {}
        self.files: dict[str, str] = {}


class ShelfModels:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def find(self, name: str, *, owner_id: str) -> ChatModel:
        if name not in self._shelf.models:
            raise ModelUnknownError(f"there is no model {name!r}", fix="Choose another one.")
        return self._shelf.models[name]


class ShelfSkills:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def find(self, skill_id: str, *, owner_id: str, run_id: RunId) -> Skill:
        if skill_id not in self._shelf.skills:
            raise SkillNotFoundError(f"there is no skill {skill_id!r}")
        return self._shelf.skills[skill_id]

    async def read_file(self, skill_id: str, path: str, *, owner_id: str, run_id: RunId) -> str:
        await self.find(skill_id, owner_id=owner_id, run_id=run_id)
        if path not in self._shelf.files:
            raise SkillFileError(f"the skill {skill_id!r} has no file {path!r}")
        return self._shelf.files[path]


class ShelfWorkflows:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def find(self, name: str, version: VersionChoice, *, owner_id: str) -> FoundWorkflow:
        if name not in self._shelf.workflows:
            raise NotFoundError(f"There is no workflow {name!r}.")
        return self._shelf.workflows[name]


class Watcher:
    """Keeps the live text that was published."""

    def __init__(self) -> None:
        self.texts: list[LiveText] = []

    def publish(self, text: LiveText) -> None:
        self.texts.append(text)

    def shown(self, node_id: str) -> str:
        """What somebody who watched this node from the start sees now."""
        text = ""
        for piece in self.texts:
            if piece.node_id == node_id:
                text = piece.text if piece.whole else text + piece.text
        return text


class Studio:
    def __init__(self) -> None:
        self.clock = HandClock()
        self.ids = CountingIds()
        self.dice = FixedDice()
        self.log = MemoryLog(self.clock)
        self.journal = MemoryJournal()
        self.watcher = Watcher()
        self.gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """A node named here waits in its model call until its gate is set."""
        self.asked: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """Set when a node's call has come to the model."""
        scripted = ScriptedModel(clock=self.clock, journal=self.journal, gate=self._gate)
        self.planner_is_instant = False
        """Whether the planner's answer is there without any waiting."""
        self.shelf = Shelf({scripted.name: scripted})
        self.limits = RunLimits()
        self.egress: Egress = ClosedEgress()
        self.sandbox: Sandbox = ClosedSandbox()
        self.tools: Tools = ClosedTools()
        self.agents: dict[str, AgentRuntime] = {"builtin": BuiltinRuntime()}
        self._default_model = scripted.name

    draw = staticmethod(draw)

    def engine(self, log: RunLog | None = None) -> Engine:
        return Engine(
            clock=self.clock,
            ids=self.ids,
            dice=self.dice,
            log=log or self.log,
            sub_runs=self.log,
            workflows=ShelfWorkflows(self.shelf),
            models=ShelfModels(self.shelf),
            skills=ShelfSkills(self.shelf),
            live=self.watcher,
            limits=self.limits,
            egress=self.egress,
            sandbox=self.sandbox,
            tools=self.tools,
            agents=self.agents,
        )

    def add_skill(self, skill: Skill) -> None:
        self.shelf.skills[skill.skill_id] = skill

    def accept(
        self,
        graph: Graph,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        planner: Sequence[Reply] | None = None,
        answers: Answers = (),
        queued: JsonValue = None,
        mode: Mode | None = None,
        model: str | None = None,
        planner_model: str | None = None,
        max_visits: int = 50,
        budget: Budget | None = None,
        parallel_nodes: int = 16,
    ) -> RunId:
        """Take in a run. With a planner it is AGENTIC; `answers` are given in the order the nodes ask, or by node."""
        settled_mode = mode or (Mode.DAG if planner is None else Mode.AGENTIC)
        run_id = RunId(self.ids.new())
        options = RunOptions(
            default_model=model or self._default_model,
            planner_model=planner_model,
            max_visits=max_visits,
            budget=budget or Budget(),
            queued_inputs=read_queued_inputs(graph, queued).entries,
            script=script_of(graph, planner, answers),
            parallel_nodes=parallel_nodes,
        )
        self.log.accept(run_id, graph, mode=settled_mode, options=options, inputs=inputs)
        return run_id

    async def run(
        self,
        graph: Graph,
        *,
        inputs: Mapping[str, JsonValue] | None = None,
        planner: Sequence[Reply] | None = None,
        answers: Answers = (),
        queued: JsonValue = None,
        mode: Mode | None = None,
        model: str | None = None,
        planner_model: str | None = None,
        max_visits: int = 50,
        budget: Budget | None = None,
        parallel_nodes: int = 16,
    ) -> SeenRun:
        """Run a graph to its end; time jumps from wait to wait."""
        run_id = self.accept(
            graph,
            inputs=inputs,
            planner=planner,
            answers=answers,
            queued=queued,
            mode=mode,
            model=model,
            planner_model=planner_model,
            max_visits=max_visits,
            budget=budget,
            parallel_nodes=parallel_nodes,
        )
        await self.clock.run_through(self.start(run_id))
        return self.look(run_id)

    def start(self, run_id: RunId) -> asyncio.Task[None]:
        """Drive a run in a task of its own, for tests that interfere."""
        return asyncio.create_task(drive(self.engine(), run_id, self.log.run(run_id).segment))

    def open_pause(self, run_id: RunId, node: str | None = None) -> Pause:
        """The question that waits for a person; of one node where several wait."""
        waiting = [pause for pause in self.log.run(run_id).pauses.values() if pause.status is PauseStatus.OPEN]
        (pause,) = [pause for pause in waiting if node in (None, pause.node_id)]
        return pause

    async def answer(self, run_id: RunId, *, node: str | None = None, given: Given) -> SeenRun:
        """Answer a question as a person would, and let the run go on to its end or its next question."""
        self.log.answer(self.open_pause(run_id, node).pause_id, given, by="somebody")
        return await self.go_on(run_id)

    async def go_on(self, run_id: RunId) -> SeenRun:
        """Drive a run on that was given a new segment."""
        await self.clock.run_through(self.start(run_id))
        return self.look(run_id)

    def look(self, run_id: RunId) -> SeenRun:
        return SeenRun(self.log.run(run_id), self.log, self)

    def hold(self, *node_ids: str) -> None:
        """Let these nodes wait in their model calls until `let_go`."""
        for node_id in node_ids:
            self.gates[node_id].clear()

    def let_go(self, *node_ids: str) -> None:
        for node_id in node_ids:
            self.gates[node_id].set()

    async def _gate(self, site: CallSite) -> None:
        if site.role != "node":
            if not self.planner_is_instant:
                await asyncio.sleep(0)  # as every model outside this process
            return
        self.asked[site.node_id].set()
        if site.node_id in self.gates:
            await self.gates[site.node_id].wait()


def script_of(graph: Graph, planner: Sequence[Reply] | None, answers: Answers) -> JsonValue:
    """Return the script that gives these answers, and these decisions of the planner."""
    by_node: dict[str, list[JsonValue]] = {}
    if isinstance(answers, Mapping):
        for node_id, replies in answers.items():
            several = [replies] if isinstance(replies, str | Mapping) else replies
            by_node[node_id] = [_answer(reply) for reply in several]
    else:
        asking = [node_id for node_id in _order(graph, planner) if graph.nodes[node_id].type in _ASKING]
        for node_id, reply in zip(asking, answers, strict=False):
            by_node.setdefault(node_id, []).append(_answer(reply))
    parts: list[JsonValue] = [{"for": {"node": node_id}, "replies": replies} for node_id, replies in by_node.items()]
    if planner is not None:
        parts.append({"for": {"role": "planner"}, "replies": [_decision(reply) for reply in planner]})
    return parts


def _order(graph: Graph, planner: Sequence[Reply] | None) -> list[NodeId]:
    """The order in which nodes are expected to ask."""
    if planner is None:
        return list(topological_order(graph))
    return [NodeId(reply) for reply in planner if isinstance(reply, str) and reply in graph.nodes]


def _answer(reply: Reply) -> JsonValue:
    return {"text": reply} if isinstance(reply, str) else dict(reply)


def _decision(reply: Reply) -> JsonValue:
    return {"next": reply, "reason": f"on to {reply}"} if isinstance(reply, str) else dict(reply)


__all__ = ["Data", "SeenRun", "SeenVisit", "Studio", "draw", "script_of"]
