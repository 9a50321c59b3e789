"""What the engine asks of the outside world.

A port is shaped by what the engine asks, not by what a vendor offers. The run ledger is in `log.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from pydantic import JsonValue

from flyback.domain.events import LiveText
from flyback.domain.graph import NodeId
from flyback.domain.graph_file import WorkflowDocument
from flyback.domain.pause import Question, qualified_name
from flyback.domain.run import RunId, Usage, VersionChoice, VisitId, WorkflowId
from flyback.domain.value import value_type
from flyback.engine.log import CallRole


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the time of day, in UTC: for people, never for order."""
        ...

    def monotonic(self) -> float:
        """Return seconds from a fixed but unknown point."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Return what `asyncio.timeout` returns, by this clock."""
        ...


class Ids(Protocol):
    def new(self) -> str:
        """Return a new UUID, as text."""
        ...


class Dice(Protocol):
    def uniform(self, low: float, high: float) -> float: ...


# Models.


CLARIFY = "clarify"
"""The tool with which an agent asks the person."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call."""

    name: str
    description: str
    schema: Mapping[str, JsonValue]
    """JSON schema of its arguments, an object."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for."""

    call_id: str
    """The model's own; its result names it."""
    name: str
    arguments: Mapping[str, JsonValue]


Role = Literal["system", "user", "assistant", "tool"]


@value_type
class Message:
    role: Role
    text: str
    tool_calls: Sequence[ToolCall] = ()
    """Of an assistant: the tools that it called."""
    call_id: str | None = None
    """Of a tool: the call that this is the result of."""
    tool: str | None = None
    """Of a tool: its name."""


@value_type
class CallSite:
    """Where in a run a call is made. The scripted model plays by it, and every call's key is made of it."""

    run_id: RunId
    node_id: NodeId
    """The node, for the planner the node of the visit it is asked after."""
    visit_id: VisitId | None
    role: CallRole
    n: int
    """Which call at this place and for this role, from 1: one more than are recorded."""
    position: int = 0
    """How many calls the run has recorded for this node, or for the planner: the place in a script."""
    script: JsonValue = None
    """The script of the run's own graph."""

    @property
    def idempotency_key(self) -> str:
        return f"{self.run_id}/{self.visit_id or self.node_id}/{self.role}-{self.n}"


@value_type
class ChatRequest:
    messages: Sequence[Message]
    site: CallSite
    temperature: float | None = None
    max_tokens: int | None = None
    schema: Mapping[str, JsonValue] | None = None
    """A JSON schema the answer must have: asked for by the provider's own means where it has them, and as text content,
    never as a tool call."""
    purpose: Literal["text", "decision"] = "text"
    """Decisions go before texts in the embedded model's queue."""
    tools: Sequence[ToolSpec] = ()
    """What the model may call instead of answering."""


@value_type
class ChatReply:
    text: str
    finish_reason: str
    """`stop`, or `length` where the token limit cut it."""
    usage: Usage
    """With its price where the entry has one, and `estimated` where the provider told nothing."""
    model: str
    """The provider's own name of the model that answered."""
    tool_calls: Sequence[ToolCall] = ()
    """The tools that it wants to be called, in order."""
    notes: Sequence[str] = ()
    """What else is to be known of the call: which entry stood in for which, and why."""


class ChatModel(Protocol):
    """One model entry, its fallbacks behind it."""

    @property
    def name(self) -> str:
        """The entry's name."""
        ...

    @property
    def has_price(self) -> bool: ...

    @property
    def decider(self) -> Decider | None:
        """Set where this model is asked by likelihood and not by text: the embedded model."""
        ...

    def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        """Yield pieces of the text as they come and at the end, once, the whole reply.

        Closing the generator aborts the call at once. Timeouts to the first byte, between chunks and in all are the
        model's own.

        Raises:
            ModelUnavailableError, ModelTimeoutError, ModelRefusedError, ModelContextError, ScriptExhaustedError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """Log-odds for each claim, in their order: log P(yes) − log P(no)."""

    scores: Sequence[float]
    usage: Usage
    model: str


class Decider(Protocol):
    async def decide(self, text: str, claims: Sequence[str], *, site: CallSite) -> Verdict:
        """Judge how likely each claim is true of the text. Raises what `ChatModel.stream` raises."""
        ...


class ModelCatalog(Protocol):
    async def find(self, name: str, *, owner_id: str) -> ChatModel:
        """Return the entry of this name or id. Raises ModelUnknownError."""
        ...


# Skills.


@dataclass(frozen=True, slots=True)
class SkillField:
    name: str
    type: str = "string"
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Skill:
    skill_id: str
    """The folder's own name."""
    name: str
    description: str
    body: str
    """The instructions, without front matter, line ends as LF."""
    inputs: Sequence[SkillField] = ()
    outputs: Sequence[SkillField] = ()
    allowed_tools: Sequence[str] | None = None
    """The only tools that may be used while following it: they take away from what a node gives, and add nothing."""
    approval: Sequence[str] = ()
    """The tools before which a person is asked, beside those that a node names."""
    files: Sequence[str] = ()
    """Paths of its other files, inside its folder."""
    version: str = ""
    """The hash of its content."""
    runs_scripts: bool = False
    """Whether the operator lets agents run the Python programs among its files, in the sandbox."""


class SkillLibrary(Protocol):
    """The skills that an owner may use. A run goes on with the version that it found at its first look."""

    async def find(self, skill_id: str, *, owner_id: str, run_id: RunId) -> Skill:
        """Return a skill by its folder's name. Raises SkillNotFoundError."""
        ...

    async def read_file(self, skill_id: str, path: str, *, owner_id: str, run_id: RunId) -> str:
        """Return the text of one of a skill's own files. Raises SkillNotFoundError, SkillFileError."""
        ...


# Workflows.


@dataclass(frozen=True, slots=True)
class FoundWorkflow:
    """A saved workflow that a node names: its draft, or a published version."""

    document: WorkflowDocument
    workflow_id: WorkflowId
    version: int | None = None


class WorkflowShelf(Protocol):
    async def find(self, name: str, version: VersionChoice, *, owner_id: str) -> FoundWorkflow:
        """Return a workflow by its id, or by its name where only one has it. Raises NotFoundError."""
        ...


# Agents.


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool as an agent has it: what the model is told, and what happens when it is called."""

    spec: ToolSpec
    run: Callable[[Mapping[str, JsonValue]], Awaitable[str]]
    """Gives the text that the model is shown. Raises NodeError, which is told to the model. What else it raises is let
    through: a person may have to be asked before the tool runs. So its call is kept before it is made."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One turn of an agent's work, from its beginning or from where a person was asked."""

    instructions: Sequence[Message]
    """What it is to do, and all it is told."""
    tools: Sequence[AgentTool]
    outputs: Sequence[SkillField]
    """The outputs that it declares beside `final_response`."""
    max_steps: int
    """Model calls of the whole work at most."""
    chinese: bool
    state: JsonValue = None
    """What an earlier turn kept or gave with its question; None begins the work."""
    answer: PersonAnswer | None = None
    """What the person said to the question that `state` belongs to."""


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """Question to what was said, as text; empty where the person passed it over, or did not answer in time."""

    said: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Final:
    """An agent has done its work."""

    final_response: str
    new_requirements: Sequence[str] = ()
    """What the person asked for in this visit and what it has not done."""
    outputs: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    tool_calls: Sequence[tuple[str, str]] = ()
    """Name and result of every tool that was used, in order."""


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """An agent has a question to the person. The turn is over; the answer begins another one with this state."""

    questions: Sequence[Question]
    state: JsonValue


class AgentEvents(Protocol):
    """The engine's side of a turn: every model call goes through it, and what was done is stored through it."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> ChatReply:
        """Make one model call: streamed, metered, recorded. Raises NodeError."""
        ...

    async def use(self, name: str, arguments: Mapping[str, JsonValue], work: Callable[[], Awaitable[str]]) -> str:
        """Use a tool that is the runtime's own: approved where that is asked for, told, recorded.

        Raises:
            ToolDeniedError: a person did not approve it; `work` was not done.
            NodeError: what `work` raises. What else comes is let through: a person may have to be asked.
        """
        ...

    async def keep(self, state: JsonValue) -> None:
        """Store how far the turn has come: nothing that came before is done again after a death."""
        ...


class AgentRuntime(Protocol):
    async def turn(self, request: AgentRequest, events: AgentEvents) -> Final | NeedsInput:
        """Work until the end or until a person has to be asked; never wait for one. Cancelling the task stops it.

        Raises:
            NodeError: the work failed. What was kept stands, and another turn goes on from there.
        """
        ...


# The world outside.


Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class WebRequest:
    method: str
    url: str
    headers: Sequence[Header] = ()
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class WebAnswer:
    status: int
    headers: Sequence[Header]
    """In the order they came, names in lower case."""
    body: bytes
    """Whole, and as it was before it was compressed."""
    url: str
    """Where the answer came from in the end."""


class Egress(Protocol):
    """The only way by which the server calls an address that a workflow names."""

    async def fetch(self, request: WebRequest) -> WebAnswer:
        """Make one HTTP call, following redirects as far as is safe. Cancelling it ends the call at once.

        Raises:
            EgressRefusedError: the address, or one that it redirects to, is not to be called.
            EgressLimitError: too large, too slow, or too many redirects.
            EgressFailedError: no whole answer came; an EgressUnavailableError where asking again does no harm.
            ConfigInvalidError: what is to be sent is no HTTP.
        """
        ...


@dataclass(frozen=True, slots=True)
class CodeResult:
    values: Mapping[str, JsonValue]
    """The outputs that were asked for and that the program set."""
    printed: str
    mended: Sequence[str] = ()
    """What had to be mended in the outputs."""


class Sandbox(Protocol):
    """Runs a program that nobody trusts: away from this process, its files, its network and its environment."""

    async def run(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:
        """Run Python with `inputs` as its variables, and read the variables `outputs` at its end.

        Raises:
            CodeError: with the line; CodeMemoryError, CodeTimeoutError, OutputTooLargeError: a limit was met.
            CodeOffError: the operator has switched it off.
        """
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of an MCP server, as it describes itself."""

    server: str
    name: str
    description: str
    schema: Mapping[str, JsonValue]
    """JSON schema of its arguments."""
    accepted: bool = True
    """False where this is not what was accepted: it cannot be used until a person looks at it."""
    accepted_as: Mapping[str, JsonValue] | None = None
    """Where it is not: `{description, inputSchema}` as they were accepted, if they were."""
    approval: bool = False
    """Whether a person is asked before it runs, as its server's settings say."""

    @property
    def qualified_name(self) -> str:
        """Its name among the tools of all servers."""
        return qualified_name(self.server, self.name)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    text: str
    json: JsonValue
    """What it gave as structured content, else what its text holds as JSON, else null."""
    mended: Sequence[str] = ()
    """What had to be mended in it."""


class Tools(Protocol):
    """The tools of the MCP servers that an owner may use."""

    async def of(self, server: str, *, owner_id: str) -> Sequence[Tool]:
        """Ask a server for its tools.

        Raises:
            ToolUnknownError: there is no such server.
            ToolUnavailableError, EgressRefusedError, EgressLimitError: it cannot be asked.
        """
        ...

    async def asks_before(self, server: str, tool: str, *, owner_id: str) -> bool:
        """Whether a person is to be asked before this tool runs. Nothing is connected to. Raises ToolUnknownError."""
        ...

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, JsonValue], *, owner_id: str, key: str
    ) -> ToolAnswer:
        """Call a tool that was accepted as it is now. `key` stays the same when a call is repeated after a crash.

        Raises:
            ToolUnknownError, ToolNotAcceptedError: it was not called.
            ToolUnavailableError, EgressRefusedError: it was not called.
            ToolFailedError, EgressLimitError: it reported a failure, or its answer did not come.
        """
        ...


# Text that is forming.


class LiveSink(Protocol):
    def publish(self, text: LiveText) -> None:
        """Hand on a piece, or a snapshot that replaces the text so far. Never blocks and never fails."""
        ...
