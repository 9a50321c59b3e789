"""Model and tool calls: what they are keyed by, what they cost, and that each one is on record.

Every call of a run goes through its meter. The meter knows how many calls the run has recorded at each place, so that a
call that a crash cut off is made again under the same key and with the same reply of a script, and a retry is not. It
checks the budget before each call and lowers the call's `max_tokens` to what is left; calls in flight may overshoot and
are counted. A call that failed or was stopped is recorded like any other.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Literal, TypeVar

from pydantic import JsonValue

from flyback.domain.errors import BudgetExceededError, FlybackError, ModelUnavailableError, RunTimeoutError
from flyback.domain.graph import NodeId
from flyback.domain.run import NO_USAGE, Budget, ErrorInfo, RunUsage, Usage, VisitId
from flyback.engine.estimate import estimate_partial
from flyback.engine.event_data import CANCELLED
from flyback.engine.failpoints import hit
from flyback.engine.live_text import LiveWriter, Shown
from flyback.engine.log import Begun, CallRecord, CallRole, RunState, call_id_of
from flyback.engine.parts import Engine
from flyback.engine.ports import CallSite, ChatModel, ChatReply, ChatRequest, Message, ToolCall, ToolSpec, Verdict

Purpose = Literal["text", "decision"]

T = TypeVar("T")


class Meter:
    """What a run has used so far, while one driver drives it. `outer` is the meter of the run that it is inside of."""

    def __init__(self, state: RunState, engine: Engine, *, outer: Meter | None = None) -> None:
        self.state = state
        self.engine = engine
        self._budget: Budget = state.options.budget
        self._total = state.usage.total
        self._planner = state.usage.planner
        self._sub_runs = state.usage.sub_runs
        self._outer = outer
        self._driven_before = state.usage.driven_seconds
        self._since = engine.clock.monotonic()
        self._recorded: defaultdict[tuple[NodeId, VisitId | None, CallRole], int] = defaultdict(int)
        self._played: defaultdict[NodeId | None, int] = defaultdict(int)
        for count in state.call_counts:
            self._recorded[count.node_id, count.visit_id, count.role] += count.count
            if count.role != "tool":
                self._played[_script_part(count.node_id, count.role)] += count.count
        self._pending: list[CallRecord] = []

    @property
    def usage(self) -> RunUsage:
        return RunUsage(self._total, self._planner, self.driven_seconds, self._sub_runs)

    @property
    def driven_seconds(self) -> float:
        return self._driven_before + self.engine.clock.monotonic() - self._since

    def check(self) -> None:
        """Raises BudgetExceededError or RunTimeoutError where the run, or one that it is inside of, may go no further."""
        if self._outer is not None:
            self._outer.check()
        driven = self.driven_seconds
        longest = self.engine.limits.driven_seconds
        if driven >= longest:
            raise RunTimeoutError(
                f"the run was driven for {longest / 3600:g} hours, which is the limit",
                fix="Split the work into several runs.",
            )
        budget, total = self._budget, self._total
        if budget.tokens is not None and total.tokens >= budget.tokens:
            raise _used_up(f"{total.tokens:,} of {budget.tokens:,} tokens")
        if budget.seconds is not None and driven >= budget.seconds:
            raise _used_up(f"{driven:.1f} of {budget.seconds:g} seconds")
        if budget.cost is not None and (total.cost or 0.0) >= budget.cost:
            raise _used_up(f"{total.cost or 0.0:.4f} of {budget.cost:g} {total.currency or 'in money'}")

    def at(
        self,
        node_id: NodeId,
        visit_id: VisitId | None,
        role: CallRole,
        attempt: int,
        *,
        held: bool = False,
        on_begun: OnBegun | None = None,
    ) -> CallPlace:
        """Return the place at which one attempt makes its calls. `held`: its live text waits for `release`."""
        return CallPlace(self, node_id, visit_id, role, attempt, held=held, on_begun=on_begun)

    def take_records(self) -> tuple[CallRecord, ...]:
        """Take the records that no place has taken: of calls that were stopped together with the run."""
        taken = tuple(self._pending)
        self._pending.clear()
        return taken

    def site(self, node_id: NodeId, visit_id: VisitId | None, role: CallRole) -> CallSite:
        """Where the next call stands."""
        return CallSite(
            run_id=self.state.run_id,
            node_id=node_id,
            visit_id=visit_id,
            role=role,
            n=self._recorded[node_id, visit_id, role] + 1,
            position=self._played[_script_part(node_id, role)],
            script=self.state.options.script,
        )

    def tokens_left(self, max_tokens: int | None) -> int | None:
        if self._outer is not None:
            max_tokens = self._outer.tokens_left(max_tokens)
        if self._budget.tokens is None:
            return max_tokens
        left = max(1, self._budget.tokens - self._total.tokens)
        return left if max_tokens is None else min(left, max_tokens)

    def add(self, record: CallRecord) -> None:
        self._recorded[record.node_id, record.visit_id, record.role] += 1
        if record.role != "tool":
            self._played[_script_part(record.node_id, record.role)] += 1
        self._total = self._total.plus(record.usage)
        if record.role == "planner":
            self._planner = self._planner.plus(record.usage)
        self._pending.append(record)
        if self._outer is not None:
            self._outer.add_inside(record.usage)

    def add_inside(self, usage: Usage) -> None:
        """Count what a run inside this one used."""
        self._total = self._total.plus(usage)
        self._sub_runs = self._sub_runs.plus(usage)
        if self._outer is not None:
            self._outer.add_inside(usage)

    def take(self, records: Sequence[CallRecord]) -> None:
        """Say that somebody else holds these records now."""
        for record in records:
            self._pending.remove(record)


class CallPlace:
    """Where the calls of one attempt are made: of a node, or of one try of the planner."""

    def __init__(
        self,
        meter: Meter,
        node_id: NodeId,
        visit_id: VisitId | None,
        role: CallRole,
        attempt: int,
        *,
        held: bool,
        on_begun: OnBegun | None,
    ) -> None:
        self._meter = meter
        self._node_id = node_id
        self._visit_id = visit_id
        self._role: CallRole = role
        self._attempt = attempt
        self._records: list[CallRecord] = []
        self._usage = NO_USAGE
        self._held = held
        self._on_begun = on_begun
        self._live: LiveWriter | None = None

    @property
    def usage(self) -> Usage:
        """What was used at this place, records that were taken included."""
        return self._usage

    def take_records(self) -> tuple[CallRecord, ...]:
        """Take the finished calls that no commit holds yet."""
        if not self._records:
            return ()
        taken = tuple(self._records)
        self._records.clear()
        self._meter.take(taken)
        return taken

    def release(self) -> None:
        """Let go the live text that was held back."""
        self._held = False
        if self._live is not None:
            self._live.release()

    async def ask(
        self,
        model: ChatModel,
        messages: Sequence[Message],
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: Mapping[str, JsonValue] | None = None,
        purpose: Purpose = "text",
        on_text: Shown | None = None,
        tools: Sequence[ToolSpec] = (),
    ) -> ChatReply:
        """Make one call. `on_text` turns each piece of the answer into what people are shown; None shows nothing.

        Raises:
            BudgetExceededError, RunTimeoutError: before the call.
            NodeError: what `ChatModel.stream` raises; the call is on record.
        """
        self._meter.check()
        allowed = self._meter.tokens_left(max_tokens)
        site = self._meter.site(self._node_id, self._visit_id, self._role)
        request = ChatRequest(messages, site, temperature, allowed, schema, purpose, tools)
        pieces: list[str] = []
        live = None if on_text is None else self._writer()
        call = _Call(self, model.name, site, _request_json(request))
        try:
            reply = await _streamed(model, request, pieces, live, on_text)
        except BaseException as error:
            text = "".join(pieces)
            call.failed(error, partial=text, usage=estimate_partial(messages, text))
            raise
        finally:
            if live is not None:
                live.flush()
        answer: dict[str, JsonValue] = {"text": reply.text}
        if reply.tool_calls:
            answer["toolCalls"] = [_tool_call_json(call) for call in reply.tool_calls]
        if reply.notes:
            answer["notes"] = list(reply.notes)
        call.answered(answer, reply.usage, model=reply.model, finish_reason=reply.finish_reason)
        return reply

    async def judge(self, model: ChatModel, text: str, claims: Sequence[str]) -> Verdict:
        """Ask the model's decider. Raises what `ask` raises."""
        decider = model.decider
        assert decider is not None, "only a model with a decider is asked to judge"
        self._meter.check()
        site = self._meter.site(self._node_id, self._visit_id, self._role)
        call = _Call(self, model.name, site, {"text": text, "claims": list(claims)})
        try:
            verdict = await decider.decide(text, claims, site=site)
        except BaseException as error:
            call.failed(error, partial="", usage=Usage(calls=1))
            raise
        call.answered({"scores": list(verdict.scores)}, verdict.usage, model=verdict.model, finish_reason=None)
        return verdict

    async def use(
        self, tool: str, arguments: JsonValue, work: Callable[[str], Awaitable[T]], shown: Callable[[T], JsonValue]
    ) -> T:
        """Make one tool call. `work` is given the call's key, which a repetition after a crash has too; `shown` says
        what of the result goes on record.

        Raises:
            BudgetExceededError, RunTimeoutError: before the call.
            NodeError: what `work` raises; the call is on record.
        """
        self._meter.check()
        site = self._meter.site(self._node_id, self._visit_id, "tool")
        begun = Begun(self.next_tool_call, tool)
        recovered = self._on_begun is not None and await self._on_begun(self, begun, arguments)
        call = _Call(self, tool, site, arguments, recovered=recovered)
        try:
            result = await work(site.idempotency_key)
            hit("tool.used")
        except BaseException as error:
            call.failed(error, partial="", usage=NO_USAGE)
            raise
        call.answered(shown(result), NO_USAGE, model=None, finish_reason=None)
        return result

    @property
    def next_tool_call(self) -> str:
        """The name within the run that the next tool call here has, also when it is made again after a death."""
        site = self._meter.site(self._node_id, self._visit_id, "tool")
        return call_id_of(site.node_id, site.visit_id, site.role, site.n)

    def record(self, record: CallRecord) -> None:
        """Keep the record of a finished call until a commit takes it."""
        self._records.append(record)
        self._usage = self._usage.plus(record.usage)
        self._meter.add(record)

    def _writer(self) -> LiveWriter:
        if self._live is None:
            meter = self._meter
            self._live = LiveWriter(
                meter.engine.live,
                meter.state.run_id,
                self._node_id,
                self._visit_id,
                self._role,
                self._attempt,
                held=self._held,
            )
        return self._live

    @property
    def meter(self) -> Meter:
        return self._meter

    @property
    def attempt(self) -> int:
        return self._attempt


OnBegun = Callable[[CallPlace, Begun, JsonValue], Awaitable[bool]]
"""Stores that a tool call begins here, with these arguments; says whether it was begun before, by a driver that died."""


async def _streamed(
    model: ChatModel, request: ChatRequest, pieces: list[str], live: LiveWriter | None, on_text: Shown | None
) -> ChatReply:
    """Make the call; `pieces` holds what came so far, whatever becomes of it."""
    if live is not None:
        live.begin()
    reply: ChatReply | None = None
    async with aclosing(model.stream(request)) as stream:
        async for piece in stream:
            if isinstance(piece, ChatReply):
                reply = piece
                continue
            pieces.append(piece)
            if live is not None and on_text is not None:
                live.write(on_text(piece))
    if reply is None:
        raise ModelUnavailableError(
            f"model {model.name!r} broke off before the end of its answer",
            node=request.site.node_id,
            fix="Try again, or check the provider's status.",
        )
    return reply


class _Call:
    """One call in flight, until it is on record."""

    __slots__ = ("_began", "_name", "_place", "_recovered", "_request", "_site")

    def __init__(
        self, place: CallPlace, name: str, site: CallSite, request: JsonValue, *, recovered: bool = False
    ) -> None:
        self._recovered = recovered
        self._place = place
        self._name = name
        self._site = site
        self._request = request
        self._began = place.meter.engine.clock.monotonic()

    def answered(self, response: JsonValue, usage: Usage, *, model: str | None, finish_reason: str | None) -> None:
        self._record(response, usage, model=model, finish_reason=finish_reason)

    def failed(self, error: BaseException, *, partial: str, usage: Usage) -> None:
        self._record({"text": partial} if partial else None, usage, error=_info(error, self._site.node_id))

    def _record(
        self,
        response: JsonValue,
        usage: Usage,
        *,
        model: str | None = None,
        finish_reason: str | None = None,
        error: ErrorInfo | None = None,
    ) -> None:
        engine = self._place.meter.engine
        call = CallRecord(
            node_id=self._site.node_id,
            visit_id=self._site.visit_id,
            role=self._site.role,
            n=self._site.n,
            kind="tool" if self._site.role == "tool" else "model",
            name=self._name,
            request=self._request,
            response=response,
            attempt=self._place.attempt,
            usage=usage,
            latency_ms=round((engine.clock.monotonic() - self._began) * 1000),
            created_at=engine.clock.now(),
            error=error,
            model=model,
            finish_reason=finish_reason,
            recovered=self._recovered,
        )
        self._place.record(call)
        engine.watch.called(self._site.run_id, call)


def _script_part(node_id: NodeId, role: CallRole) -> NodeId | None:
    """A script counts the model calls of each node, and those of the planner together."""
    return None if role == "planner" else node_id


def _request_json(request: ChatRequest) -> JsonValue:
    sent: dict[str, JsonValue] = {"messages": [_message_json(message) for message in request.messages]}
    if request.temperature is not None:
        sent["temperature"] = request.temperature
    if request.max_tokens is not None:
        sent["maxTokens"] = request.max_tokens
    if request.schema is not None:
        sent["schema"] = dict(request.schema)
    if request.tools:
        sent["tools"] = [
            {"name": tool.name, "description": tool.description, "schema": dict(tool.schema)} for tool in request.tools
        ]
    return sent


def _message_json(message: Message) -> JsonValue:
    said: dict[str, JsonValue] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        said["toolCalls"] = [_tool_call_json(call) for call in message.tool_calls]
    if message.call_id is not None:
        said |= {"callId": message.call_id, "name": message.tool}
    return said


def _tool_call_json(call: ToolCall) -> JsonValue:
    return {"callId": call.call_id, "name": call.name, "arguments": dict(call.arguments)}


def _info(error: BaseException, node_id: NodeId) -> ErrorInfo:
    if isinstance(error, FlybackError):
        return ErrorInfo(error.code, error.message, error.node or node_id, error.field, error.fix)
    if isinstance(error, asyncio.CancelledError):
        return ErrorInfo(CANCELLED, "the call was stopped", node_id)
    return ErrorInfo("INTERNAL", f"the call broke with {type(error).__name__}: {error}", node_id)


def _used_up(what: str) -> BudgetExceededError:
    return BudgetExceededError(
        f"the run's budget is used up: {what}", fix="Raise the budget, or ask for less in one run."
    )
