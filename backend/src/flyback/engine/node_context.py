"""A node at work: its view of the run, for one attempt.

What it rendered, which names it found and which it did not are gathered here for the record. In an output node of a DAG
run a reference to a node that was skipped renders as nothing: its branch was not taken.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.errors import ConfigInvalidError
from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.pause import Ask
from flyback.domain.run import NO_USAGE, Mode, Usage, VisitId
from flyback.domain.template import Found, Reference, Resolver, read_reference
from flyback.domain.template import render as fill_in
from flyback.domain.value import value_type
from flyback.domain.workspace import SEPARATOR, Workspace
from flyback.engine.calls import CallPlace
from flyback.engine.live_text import as_is
from flyback.engine.log import SubRun
from flyback.engine.node_calls import CallingNode
from flyback.engine.nodes.context import INDEX, ITEM, Called, VisitFacts
from flyback.engine.ports import AgentRuntime, ChatModel, ChatReply, Message, Skill, Tool, ToolSpec, Verdict
from flyback.engine.resuming import Resumed
from flyback.engine.run_at_work import RunAtWork

Keep = Callable[[JsonValue], Awaitable[None]]
"""Stores how far the work of an attempt has come."""

QUEUED = "queued"
"""In the `meta` of a `userInput` that took an entry of `queuedInputs`."""

_NOTHING = Found("")


@value_type
class Place:
    """Where in a run a node is executed, and what it sees there."""

    workspace: Workspace
    earlier: Sequence[Envelope] = ()
    """AGENTIC the envelopes of all visits before, DAG of all finished ancestors, in order."""
    visit_id: VisitId | None = None
    visit: VisitFacts | None = None
    is_first_input: bool = True
    chosen_by_fallback: bool = False
    live_predecessors: Callable[[], Sequence[Envelope]] = tuple
    """DAG: what leads here, worked out when a node asks."""
    skipped: Collection[NodeId] = frozenset()
    """DAG: the nodes that were SKIPPED so far."""
    attempts: int = 0
    """Attempts that failed and are committed."""
    usage: Usage = NO_USAGE
    """What they used."""
    resumed: Resumed | None = None
    """How the work goes on that an earlier driver, or a question, interrupted."""


class WorkingNode(CallingNode):
    """The engine's side of one attempt at a node."""

    def __init__(
        self,
        run: RunAtWork,
        node: Node,
        place: Place,
        calls: CallPlace,
        *,
        resumed: Resumed | None,
        used_before: Usage,
        keep: Keep,
    ) -> None:
        super().__init__(run, calls, resumed)
        self.node: Node = node
        self._keep = keep
        self.notes: dict[str, JsonValue] = {}
        self._place = place
        self._used: dict[str, JsonValue] = {}
        self._unresolved: dict[str, None] = {}
        self._skills: dict[str, JsonValue] = {}
        """Skill to the version that was used."""
        self._used_before = used_before

    @property
    def mode(self) -> Mode:
        return self._state.mode

    @property
    def graph(self) -> Graph:
        return self._state.graph

    @property
    def workspace(self) -> Workspace:
        return self._place.workspace

    @property
    def visit(self) -> VisitFacts | None:
        return self._place.visit

    @property
    def run_inputs(self) -> Mapping[str, JsonValue]:
        return self._state.inputs

    @property
    def earlier(self) -> Sequence[Envelope]:
        return self._place.earlier

    @property
    def live_predecessors(self) -> Sequence[Envelope]:
        return self._place.live_predecessors()

    @property
    def chosen_by_fallback(self) -> bool:
        return self._place.chosen_by_fallback

    @property
    def is_first_input(self) -> bool:
        return self._place.is_first_input

    @property
    def unresolved(self) -> Sequence[str]:
        return tuple(self._unresolved)

    @property
    def resolved(self) -> Mapping[str, JsonValue]:
        return self._used

    def render(self, template: str) -> str:
        if "{{" not in template:
            return template
        rendered = fill_in(template, self._find)
        self._used.update(rendered.used)
        self._unresolved.update(dict.fromkeys(rendered.unresolved))
        if rendered.truncated:
            self.note("cut", True)
        return rendered.text

    def value(self, reference: str) -> JsonValue:
        found = self.find(reference)
        return None if found is None else found.value

    def find(self, reference: str) -> Found | None:
        read = read_reference(reference)
        found = None if read is None else self._find(read)
        name = reference.strip() if read is None else read.name
        if found is not None:
            self._used[name] = found.value
        elif read is None or not read.optional:
            self._unresolved[name] = None
        return found

    def note(self, name: str, value: JsonValue) -> None:
        self.notes[name] = value

    def next_queued_input(self) -> Mapping[str, JsonValue] | None:
        queued = self._state.options.queued_inputs.get(self.node.id, ())
        taken = sum(
            1 for envelope in self._place.earlier if envelope.node_id == self.node.id and QUEUED in envelope.meta
        )
        if taken >= len(queued):
            return None
        self.note(QUEUED, taken + 1)
        return queued[taken]

    @property
    def usage(self) -> Usage:
        return self._used_before.plus(self._calls.usage)

    async def keep(self, state: JsonValue) -> None:
        await self._keep(state)

    async def model(self, name: str | None) -> ChatModel:
        wanted = name or self._state.options.default_model
        return await self._engine.models.find(wanted, owner_id=self._state.owner_id)

    async def ask(
        self,
        model: ChatModel,
        messages: Sequence[Message],
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: Mapping[str, JsonValue] | None = None,
        streamed: bool = True,
        tools: Sequence[ToolSpec] = (),
    ) -> ChatReply:
        return await self._calls.ask(
            model,
            messages,
            temperature=temperature,
            max_tokens=max_tokens,
            schema=schema,
            purpose="text" if streamed else "decision",
            on_text=as_is if streamed else None,
            tools=tools,
        )

    async def judge(self, model: ChatModel, text: str, claims: Sequence[str]) -> Verdict:
        return await self._calls.judge(model, text, claims)

    async def skill(self, skill_id: str) -> Skill:
        skill = await self._engine.skills.find(skill_id, owner_id=self._state.owner_id, run_id=self._state.run_id)
        if skill.version:
            self._skills[skill_id] = skill.version
            self.note("skills", dict(self._skills))
        return skill

    async def skill_file(self, skill_id: str, path: str) -> str:
        return await self._engine.skills.read_file(
            skill_id, path, owner_id=self._state.owner_id, run_id=self._state.run_id
        )

    def agent_runtime(self, name: str) -> AgentRuntime | None:
        return self._engine.agents.get(name)

    async def tools_of(self, server: str) -> Sequence[Tool]:
        return await self._engine.tools.of(server, owner_id=self._state.owner_id)

    def with_item(self, item: JsonValue, index: int) -> WorkingNode:
        variables = {**self._place.workspace.variables, ITEM: item, INDEX: index}
        place = replace(self._place, workspace=Workspace(variables, self._place.workspace.writers))
        seen = WorkingNode(
            self._run,
            self.node,
            place,
            self._calls,
            resumed=self.resumed,
            used_before=self._used_before,
            keep=self._keep,
        )
        seen._unresolved = self._unresolved
        return seen

    async def run_each(self, called: Called) -> Sequence[SubRun] | Ask:
        if self._run.sub_runs is None:
            raise ConfigInvalidError("a node on its own starts no runs", fix="Run the workflow.")
        return await self._run.sub_runs.run_each(self.node, self._place.visit_id, called)

    def filled(self, template: JsonValue) -> JsonValue:
        match template:
            case str():
                return self._filled_text(template)
            case list():
                return [self.filled(item) for item in template]
            case dict():
                return {self.render(name): self.filled(value) for name, value in template.items()}
            case _:
                return template

    def _filled_text(self, text: str) -> JsonValue:
        if "{{" not in text:
            return text
        reference = read_reference(text) if text.strip().startswith("{{") else None
        found = None if reference is None else self.find(text)
        return self.render(text) if found is None else found.value

    def _find(self, reference: Reference) -> Found | None:
        found = self._resolver.find(reference)
        if found is None and self._place.skipped and self.node.type == "output" and self._was_skipped(reference):
            return _NOTHING
        return found

    @cached_property
    def _resolver(self) -> Resolver:
        return Resolver(self._state.graph, self._place.workspace, self._told)

    @property
    def _told(self) -> Mapping[str, str] | None:
        visit = self._place.visit
        if visit is None:
            return None
        return {
            "reason": visit.reason,
            "iterSeq": str(visit.iter_seq),
            "fromNode": visit.from_node_id or "",
            "requirements": "\n".join(visit.requirements),
        }

    def _was_skipped(self, reference: Reference) -> bool:
        name = ".".join(reference.names)
        labels = self._state.graph.by_label
        heads = [*self._place.skipped, *(label for label, node_id in labels.items() if node_id in self._place.skipped)]
        return any(name.startswith((head + ".", head + SEPARATOR)) for head in heads)
