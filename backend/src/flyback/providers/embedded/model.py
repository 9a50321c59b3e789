"""The embedded model as a chat model, and as a decider by likelihood."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from pydantic import JsonValue

from flyback.domain.errors import ModelContextError, ModelRefusedError, ModelUnavailableError, NodeError
from flyback.domain.run import Usage
from flyback.engine.ports import CallSite, ChatReply, ChatRequest, Clock, Decider, Verdict
from flyback.providers.embedded.host import EmbeddedHost, HostEvent
from flyback.providers.embedded.prompts import NO, YES, chat_turns, decision_turns, statement_turns
from flyback.providers.embedded.tools import called, in_words
from flyback.providers.faults import timed_out
from flyback.providers.limits import CallLimits

_DEFAULT_TEMPERATURE = 0.3
_DEFAULT_MAX_TOKENS = 2048
_STRING_CHARACTERS = 4000
"""The longest string in an answer by schema: a small model now and then finds no end."""


class _Calls:
    """Calls to the host under the limits of every model call. The clock starts when the call has its turn."""

    def __init__(self, host: EmbeddedHost, name: str, clock: Clock, limits: CallLimits) -> None:
        self._host = host
        self._name = name
        self._clock = clock
        self._limits = limits

    async def events(self, request: Mapping[str, JsonValue], site: CallSite) -> AsyncGenerator[HostEvent, None]:
        """Yield what comes, `done` last. Raises what `ChatModel.stream` raises."""
        limits = self._limits
        async with aclosing(self._host.call(request)) as events:
            event = await anext(events)
            began = self._clock.monotonic()
            allowed = limits.first_byte_seconds
            while not event.is_last:
                yield event
                left = began + limits.total_seconds - self._clock.monotonic()
                event = await self._next(events, min(allowed, left))
                allowed = limits.between_chunks_seconds
            if event.event == "error":
                raise self._fault(event, site)
            yield event

    async def _next(self, events: AsyncGenerator[HostEvent, None], seconds: float) -> HostEvent:
        try:
            async with self._clock.timeout(seconds):
                return await anext(events)
        except TimeoutError as error:
            raise timed_out(self._name, f"nothing came for {seconds:.0f} s.") from error

    def _fault(self, event: HostEvent, site: CallSite) -> NodeError:
        what = f"Model {self._name!r}: {event.message}"
        if event.kind == "context":
            fix = "Send less text, or choose a model with a larger context window."
            return ModelContextError(what, node=site.node_id, fix=fix)
        if event.kind == "refused":
            return ModelRefusedError(what, node=site.node_id, fix="Check the node's settings against the message.")
        fix = "Try again; if it stays so, choose the small embedded model or add another model."
        return ModelUnavailableError(what, node=site.node_id, fix=fix)


class EmbeddedModel:
    """The model inside the product. It has no price."""

    has_price = False

    def __init__(self, host: EmbeddedHost, *, name: str, model: str, clock: Clock, limits: CallLimits) -> None:
        """`name` is the entry's, `model` what the model file calls itself."""
        self.name = name
        self._model = model
        self._calls = _Calls(host, name, clock, limits)
        self.decider: Decider | None = LikelihoodDecider(self._calls, model)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        """Yield pieces of the answer, then the reply. Closing the generator stops the model at once.

        The call of a tool is no text to be shown, so it comes with the reply alone.
        """
        pieces: list[str] = []
        asked = in_words(request) if request.tools else request
        async with aclosing(self._calls.events(_chat(asked), request.site)) as events:
            async for event in events:
                if event.event == "text":
                    pieces.append(event.text)
                    if not request.tools:
                        yield event.text
                elif event.event == "done":
                    usage = Usage(input_tokens=event.input_tokens, output_tokens=event.output_tokens, calls=1)
                    reply = ChatReply("".join(pieces), event.finish, usage, self._model)
                    yield called(reply, request) if request.tools else reply


class LikelihoodDecider:
    """Judges claims by how much likelier the model says yes than no."""

    def __init__(self, calls: _Calls, model: str) -> None:
        self._calls = calls
        self._model = model

    async def decide(self, text: str, claims: Sequence[str], *, site: CallSite) -> Verdict:
        prompts: list[JsonValue] = [statement_turns(text, claim) for claim in claims]
        request: dict[str, JsonValue] = {"op": "score", "prompts": prompts, "yes": [*YES], "no": [*NO]}
        scores: list[float] = []
        usage = Usage(calls=1)
        async with aclosing(self._calls.events(request, site)) as events:
            async for event in events:
                if event.event == "score":
                    scores.append(event.score)
                elif event.event == "done":
                    usage = Usage(input_tokens=event.input_tokens, output_tokens=event.output_tokens, calls=1)
        return Verdict(scores, usage, self._model)


def _chat(request: ChatRequest) -> Mapping[str, JsonValue]:
    is_decision = request.purpose == "decision" and request.schema is None
    body: dict[str, JsonValue] = {
        "messages": decision_turns(request.messages) if is_decision else chat_turns(request.messages),
        "max_tokens": _DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens,
        "temperature": _DEFAULT_TEMPERATURE if request.temperature is None else request.temperature,
    }
    if request.schema is not None:
        body["json_schema"] = {**_tight(dict(request.schema)), "x-guidance": {"whitespace_flexible": False}}
    return {"op": "chat", "lane": "decision" if is_decision else "text", "body": body}


def _tight(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Close every object and cap every string: else a small model may write white space and text without end."""
    tight = {key: _tight_inside(value) for key, value in schema.items()}
    if schema.get("type") == "object":
        tight.setdefault("additionalProperties", False)
    if schema.get("type") == "string" and "enum" not in schema:
        tight.setdefault("maxLength", _STRING_CHARACTERS)
    return tight


def _tight_inside(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _tight(value)
    return [_tight_inside(item) for item in value] if isinstance(value, list) else value
