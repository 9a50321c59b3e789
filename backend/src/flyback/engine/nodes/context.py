"""What a node sees while it works: one visit's, or one DAG node's, view of its run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.pause import Ask
from flyback.domain.run import Mode, Usage, VersionChoice
from flyback.domain.template import Found
from flyback.domain.value import value_type
from flyback.domain.workspace import Workspace
from flyback.engine.approval import Terms
from flyback.engine.log import SubRun
from flyback.engine.ports import (
    AgentRuntime,
    ChatModel,
    ChatReply,
    CodeResult,
    Message,
    Sandbox,
    Skill,
    Tool,
    ToolAnswer,
    ToolSpec,
    Verdict,
    WebAnswer,
    WebRequest,
)
from flyback.engine.resuming import Resumed


@value_type
class VisitFacts:
    """What a visit is told of why it was sent. In DAG mode there is none."""

    number: int
    """`sort_order + 1`."""
    iter_seq: int
    reason: str
    from_node_id: NodeId | None
    requirements: Sequence[str]
    """New requirements that no later visit has taken up."""
    previous_output: Envelope | None
    """What this node gave at its last visit."""


ITEM = "item"
INDEX = "index"
"""What a sub-run of an iteration is given, and its inputs may name, without anybody declaring it."""


@dataclass(frozen=True, slots=True)
class Called:
    """Runs that a node wants: one for each item."""

    workflow: str | Mapping[str, JsonValue]
    """Name or id of a saved workflow, or a graph file."""
    inputs: Callable[[int], Mapping[str, JsonValue]]
    """The inputs of the run for an item, by its index. Raises NodeError."""
    version: VersionChoice = None
    count: int = 1
    parallel: int = 1
    """How many of them are open at once."""
    goes_on: bool = False
    """Whether one that fails leaves the others alone."""


class NodeContext(Protocol):
    """The engine's side of a node's execution."""

    @property
    def mode(self) -> Mode: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def node(self) -> Node: ...
    @property
    def workspace(self) -> Workspace: ...
    @property
    def visit(self) -> VisitFacts | None: ...
    @property
    def run_inputs(self) -> Mapping[str, JsonValue]: ...

    @property
    def chinese(self) -> bool:
        """Whether the workflow's own texts are Chinese, so that what is added to them is too."""
        ...

    @property
    def earlier(self) -> Sequence[Envelope]:
        """What ran before, in order: AGENTIC the outcomes of all visits, DAG of all finished ancestors."""
        ...

    @property
    def live_predecessors(self) -> Sequence[Envelope]:
        """DAG: outcomes of the nodes from which an active edge leads here, looking through conditions and notes."""
        ...

    @property
    def chosen_by_fallback(self) -> bool:
        """AGENTIC: whether a fallback led here."""
        ...

    def render(self, template: str) -> str:
        """Fill in a template from the workspace; unresolved names stay as written and are noted for the record."""
        ...

    def value(self, reference: str) -> JsonValue:
        """Return the value of one reference (`"{{name}}"` or `"name"`), or None where nothing is found (noted)."""
        ...

    def find(self, reference: str) -> Found | None:
        """Return what one reference stands for, with the workspace key it was read from; None where nothing is found
        (noted, unless it is optional: `name?`)."""
        ...

    def note(self, name: str, value: JsonValue) -> None:
        """Put a remark into the envelope's `meta`."""
        ...

    @property
    def unresolved(self) -> Sequence[str]:
        """The names that `render` and `value` did not find so far."""
        ...

    @property
    def resolved(self) -> Mapping[str, JsonValue]:
        """The references that `render` and `value` found so far, with their values."""
        ...

    def next_queued_input(self) -> Mapping[str, JsonValue] | None:
        """Take the next entry of the run's `queuedInputs` for this node, once a visit."""
        ...

    @property
    def is_first_input(self) -> bool:
        """Whether this is the node's first visit, so that the run's inputs may answer it."""
        ...

    @property
    def resumed(self) -> Resumed | None:
        """How the work goes on that was begun before: after a question, a failed attempt or a death. None begins it."""
        ...

    @property
    def usage(self) -> Usage:
        """What the work here has used so far, attempts that failed included."""
        ...

    async def keep(self, state: JsonValue) -> None:
        """Store how far the work has come, together with the calls made so far, so that none of it is done twice."""
        ...

    async def model(self, name: str | None) -> ChatModel:
        """Return the model entry of that name, or the run's default. Raises ModelUnknownError."""
        ...

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
        """Make one model call: streamed to whoever watches, metered against the budget, recorded."""
        ...

    async def judge(self, model: ChatModel, text: str, claims: Sequence[str]) -> Verdict:
        """Ask the model's decider, metered and recorded. Only where `model.decider` is set."""
        ...

    async def skill(self, skill_id: str) -> Skill:
        """Return a skill. Raises SkillNotFoundError."""
        ...

    async def skill_file(self, skill_id: str, path: str) -> str:
        """Return the text of one of a skill's own files. Raises SkillNotFoundError, SkillFileError."""
        ...

    def agent_runtime(self, name: str) -> AgentRuntime | None:
        """Return what agents run on, by its name; None where there is none of this name."""
        ...

    @property
    def sandbox(self) -> Sandbox:
        """Where programs run that are a part of a call which is on record."""
        ...

    def ask_before(self, terms: Terms) -> None:
        """Say before which tools a person is asked from now on, and how long an answer is waited for."""
        ...

    async def tools_of(self, server: str) -> Sequence[Tool]:
        """Ask an MCP server for its tools. Raises what `Tools.of` raises."""
        ...

    async def use_own_tool(
        self, name: str, arguments: Mapping[str, JsonValue], work: Callable[[], Awaitable[str]]
    ) -> str:
        """Use a tool of the product's own, recorded like every other; a person is asked before it where the node says so.

        Raises:
            PersonNeededError: the work goes on when there is an answer. It is to be let through.
            ToolDeniedError: the person does not want it.
        """
        ...

    def with_item(self, item: JsonValue, index: int) -> NodeContext:
        """Return this context with `item` and `index` among the variables."""
        ...

    async def run_each(self, called: Called) -> Sequence[SubRun] | Ask:
        """Run a workflow for each item, inside this run, and return the runs in the order of the items.

        What has its end is not run again, whatever happened since. Where nothing can go on before a person answers, it is
        the node that waits: return what is given, and do the same again with the answer.

        Raises:
            NotFoundError, NodeError: there is nothing to run; a run failed, and the others were not to go on.
        """
        ...

    def filled(self, template: JsonValue) -> JsonValue:
        """Fill in every text of a JSON value. A text that is one reference and nothing else becomes the value itself."""
        ...

    async def fetch(self, request: WebRequest) -> WebAnswer:
        """Make one HTTP call under the rules for calls to the outside, recorded as a tool call; what is not GET carries
        the call's key. A person is asked before it where the node says so.

        Raises:
            PersonNeededError: the work goes on when there is an answer. It is to be let through.
            ToolDeniedError: the person does not want it.
            NodeError: what `Egress.fetch` raises.
        """
        ...

    async def run_code(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:
        """Run the node's own program in the sandbox. Where the node says so a person is asked before it, and it is
        recorded as a tool call.

        Raises:
            PersonNeededError: the work goes on when there is an answer. It is to be let through.
            ToolDeniedError: the person does not want it.
            NodeError: what `Sandbox.run` raises.
        """
        ...

    async def use_tool(self, server: str, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Call a tool of an MCP server, recorded; a person is asked before it where the node or the server says so.

        Raises:
            PersonNeededError: the work goes on when there is an answer. It is to be let through.
            ToolDeniedError: the person does not want it.
            NodeError: what `Tools.call` raises.
        """
        ...
