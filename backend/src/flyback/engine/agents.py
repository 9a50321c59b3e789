"""Letting an agent work at a node: its tools, its turns, and what comes of them.

Which runtime an agent runs on is not known here. The engine's side of a turn meters and records every model call, stores
how far the work has come, and hands a question on to the person as any other node does.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from flyback.domain.errors import AgentTokensError, ConfigInvalidError
from flyback.domain.pause import Ask
from flyback.engine.approval import Terms
from flyback.engine.asking import messages
from flyback.engine.forms import nobody_answered
from flyback.engine.nodes.context import NodeContext
from flyback.engine.ports import (
    CLARIFY,
    AgentRequest,
    AgentTool,
    ChatModel,
    ChatReply,
    Final,
    Message,
    NeedsInput,
    PersonAnswer,
    SkillField,
    Tool,
    ToolSpec,
)
from flyback.engine.resuming import Resumed
from flyback.engine.skill_tools import OWN_NAMES

BUILTIN = "builtin"
HERMES = "hermes"
TOOL_CALLS = "toolCalls"
"""In an envelope's `meta`: the tools that an agent used, `[{name, result}]`, in order."""

_CALLABLE = re.compile(r"[^A-Za-z0-9_-]")
_MOST_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class AgentWork:
    """What an agent is to do at a node."""

    system: str
    user: str
    model: str | None
    tools: Sequence[AgentTool]
    outputs: Sequence[SkillField] = ()
    max_steps: int = 20
    max_tokens: int | None = None
    """Of one answer."""
    total_tokens: int | None = None
    """Of all calls of the visit."""
    terms: Terms = field(default_factory=Terms)
    """On which it asks people."""
    runtime: str = BUILTIN


async def let_work(work: AgentWork, ctx: NodeContext) -> Final | Ask:
    """Do one turn: from the beginning, from where the work was interrupted, or from a person's answer.

    Raises:
        ConfigInvalidError: there is no such runtime here.
        NodeError: the work failed.
    """
    runtime = ctx.agent_runtime(work.runtime)
    if runtime is None:
        raise no_runtime(work.runtime, ctx)
    resumed = ctx.resumed
    if resumed is not None and work.terms.on_timeout == "fail" and _is_late(resumed):
        raise nobody_answered(ctx.node)
    ctx.ask_before(work.terms)
    desk = _Desk(ctx, await ctx.model(work.model), work)
    request = AgentRequest(
        messages(work.system, work.user),
        work.tools,
        work.outputs,
        work.max_steps,
        ctx.chinese,
        state=resumed.state if resumed is not None else None,
        answer=_answer(resumed),
    )
    done = await runtime.turn(request, desk)
    if isinstance(done, NeedsInput):
        terms = work.terms
        return Ask(
            "question",
            done.questions,
            state=done.state,
            on_timeout=terms.on_timeout if terms.timeout_seconds is not None else None,
            timeout_seconds=terms.timeout_seconds,
        )
    return done


def tool_calls_of(done: Final) -> Mapping[str, JsonValue]:
    """Return the note of which tools an agent used, for its envelope."""
    if not done.tool_calls:
        return {}
    return {TOOL_CALLS: [{"name": name, "result": result} for name, result in done.tool_calls]}


def no_runtime(name: str, ctx: NodeContext) -> ConfigInvalidError:
    fix = "Choose the runtime 'builtin'."
    if name == HERMES:
        fix = "Choose the runtime 'builtin', or connect a Hermes Agent: `flyback doctor` says how."
    return ConfigInvalidError(
        f"node {ctx.node.id!r} wants the agent runtime {name!r}, which is not here",
        node=ctx.node.id,
        field="runtime",
        fix=fix,
    )


class _Desk:
    def __init__(self, ctx: NodeContext, model: ChatModel, work: AgentWork) -> None:
        self._ctx = ctx
        self._model = model
        self._work = work

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> ChatReply:
        return await self._ctx.ask(self._model, messages, max_tokens=self._allowed(), tools=tools)

    def _allowed(self) -> int | None:
        """How much the next answer may hold. Raises AgentTokensError."""
        work, used = self._work, self._ctx.usage.tokens
        if work.total_tokens is None:
            return work.max_tokens
        left = work.total_tokens - used
        if left <= 0:
            raise AgentTokensError(
                f"the agent has used {used:,} of its {work.total_tokens:,} tokens",
                field="totalTokens",
                fix="Allow more tokens, or give it less to do.",
            )
        return left if work.max_tokens is None else min(left, work.max_tokens)

    async def use(self, name: str, arguments: Mapping[str, JsonValue], work: Callable[[], Awaitable[str]]) -> str:
        return await self._ctx.use_own_tool(name, arguments, work)

    async def keep(self, state: JsonValue) -> None:
        await self._ctx.keep(state)


def _is_late(resumed: Resumed) -> bool:
    return resumed.expired or (resumed.approval is not None and resumed.approval.verdict == "expired")


def _answer(resumed: Resumed | None) -> PersonAnswer | None:
    if resumed is None:
        return None
    if resumed.reply is not None:
        return PersonAnswer({name: _said(value) for name, value in resumed.reply.values.items()})
    return PersonAnswer({}) if resumed.expired else None


def _said(value: JsonValue) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)


# The tools that an agent may have.


def clarify_tool() -> AgentTool:
    """Return the tool that asks the person. The runtime answers it, and never runs it."""
    question: dict[str, JsonValue] = {
        "question": {"type": "string"},
        "choices": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Where there are some to choose from.",
        },
        "multi": {"type": "boolean", "description": "Whether several may be chosen."},
    }
    listed: JsonValue = {
        "type": "array",
        "maxItems": 5,
        "items": {"type": "object", "properties": question, "required": ["question"]},
        "description": "In place of `question`, where you ask several things at once.",
    }
    schema: dict[str, JsonValue] = {"type": "object", "properties": {**question, "questions": listed}}
    spec = ToolSpec(
        CLARIFY,
        "Ask the person. Only what you cannot find out yourself and cannot do without; ask everything at once.",
        schema,
    )

    async def never(_arguments: Mapping[str, JsonValue]) -> str:
        raise AssertionError("a question is put to the person and not run")

    return AgentTool(spec, never)


async def server_tools(
    servers: Sequence[str], wanted: Sequence[str], ctx: NodeContext, *, only: Callable[[str], bool] | None = None
) -> list[AgentTool]:
    """Return every tool of these MCP servers, and those that are named as `server__tool`, as far as `only` lets them.

    What it does not is noted.

    Raises:
        ToolUnknownError, ToolUnavailableError: a server cannot be asked, or has no such tool.
    """
    found: list[AgentTool] = []
    taken_away: list[JsonValue] = []
    names = {CLARIFY, *OWN_NAMES}
    by_server = dict.fromkeys([*servers, *(name.partition("__")[0] for name in wanted)])
    for server in by_server:
        for tool in await ctx.tools_of(server):
            named = server in servers or tool.qualified_name in wanted
            if named and only is not None and not only(tool.qualified_name):
                taken_away.append(tool.qualified_name)
            elif named and tool.accepted:
                found.append(_server_tool(tool, _free_name(tool.qualified_name, names), ctx))
    if taken_away:
        ctx.note("toolsNotAllowed", taken_away)
    return found


def _server_tool(tool: Tool, name: str, ctx: NodeContext) -> AgentTool:
    async def run(arguments: Mapping[str, JsonValue]) -> str:
        return (await ctx.use_tool(tool.server, tool.name, arguments)).text

    return AgentTool(ToolSpec(name, tool.description, tool.schema), run)


def _free_name(name: str, taken: set[str]) -> str:
    """A name that every provider takes, and that no other tool has."""
    plain = _CALLABLE.sub("_", name)[:_MOST_CHARACTERS]
    free, number = plain, 2
    while free in taken:
        free, number = f"{plain[: _MOST_CHARACTERS - 4]}_{number}", number + 1
    taken.add(free)
    return free
