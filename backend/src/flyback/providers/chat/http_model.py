"""One model behind HTTP, as the engine asks it: text in pieces, then the whole reply with what it used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flyback.domain.errors import ModelRefusedError, ModelUnreadableError, NodeError
from flyback.domain.model_entry import Prices
from flyback.domain.redaction import Redactor
from flyback.domain.run import Usage
from flyback.engine.estimate import estimate
from flyback.engine.ports import ChatReply, ChatRequest, Clock, Decider
from flyback.providers.chat.vendors import VENDORS, Endpoint, Protocol
from flyback.providers.egress.addresses import AllowList
from flyback.providers.egress.guard import ModelGuard, Resolver, system_resolver
from flyback.providers.faults import cut, unavailable
from flyback.providers.limits import CallLimits
from flyback.providers.price import priced

if TYPE_CHECKING:  # loaded with the first call
    import httpx2
    from pydantic_ai.models import StreamedResponse

    from flyback.providers.chat.wire import Call

_SCHEMA_REFUSED = re.compile(r"response[_ ]?format|schema|structured|guided", re.IGNORECASE)
_FIX = "Check the model entry, and whether the provider speaks the protocol that was chosen."


class ChatConnections:
    """What all models behind HTTP share: connections, limits, time, and what must not be written anywhere."""

    def __init__(
        self, *, clock: Clock, redactor: Redactor, limits: CallLimits | None = None, guard: ModelGuard | None = None
    ) -> None:
        self.clock = clock
        self.redactor = redactor
        self.limits = limits or CallLimits()
        self._guard = guard or model_guard(AllowList())
        self._pool: httpx2.AsyncBaseTransport | None = None
        self._loaded: set[Protocol] = set()
        self._opening = asyncio.Lock()

    async def pool(self, protocol: Protocol) -> httpx2.AsyncBaseTransport:
        """Return the connections. The first call of a protocol loads its library, in a thread: it takes seconds."""
        if self._pool is not None and protocol in self._loaded:
            return self._pool
        async with self._opening:
            pool = await asyncio.to_thread(_load, protocol, self._pool, self._guard)
            self._pool = pool
            self._loaded.add(protocol)
        return pool

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.aclose()


def model_guard(allowed: AllowList, resolver: Resolver = system_resolver) -> ModelGuard:
    """Return what decides where models are called. The providers' own addresses are public."""
    urls = [vendor.base_url for vendor in VENDORS.values() if vendor.base_url is not None and not vendor.local]
    return ModelGuard(allowed, resolver, public_names=[urlsplit(url).hostname or "" for url in urls])


def _load(protocol: Protocol, pool: httpx2.AsyncBaseTransport | None, guard: ModelGuard) -> httpx2.AsyncBaseTransport:
    from flyback.providers.chat import library

    library.load(protocol)
    return pool or library.open_connections(guard)


class HttpChatModel:
    """A model entry behind HTTP."""

    decider: Decider | None = None

    def __init__(
        self, name: str, endpoint: Endpoint, connections: ChatConnections, *, prices: Prices | None = None
    ) -> None:
        self.name = name
        self._endpoint = endpoint
        self._connections = connections
        self._prices = prices
        self._takes_schema = True
        if endpoint.api_key:
            connections.redactor.learn(endpoint.api_key)

    @property
    def has_price(self) -> bool:
        return self._prices is not None

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        """A server that refuses to be given a schema is asked without one, now and from then on."""
        with_schema = request.schema is not None and self._takes_schema
        try:
            async with aclosing(self._ask(request, with_schema=with_schema)) as parts:
                async for part in parts:
                    yield part
            return
        except ModelRefusedError as error:
            if not with_schema or not _SCHEMA_REFUSED.search(error.message):
                raise
            self._takes_schema = False
        async with aclosing(self._ask(request, with_schema=False)) as parts:
            async for part in parts:
                yield part

    async def _ask(self, request: ChatRequest, *, with_schema: bool) -> AsyncGenerator[str | ChatReply, None]:
        pool = await self._connections.pool(self._endpoint.protocol)
        from flyback.providers.chat import library

        call = self._call(request)
        pieces: list[str] = []
        try:
            model = library.make_model(self._endpoint, pool, call)
            async with library.open_stream(model, request, with_schema=with_schema) as response:
                async for text in library.texts_of(response):
                    pieces.append(text)
                    yield text
                reply = self._reply(request, "".join(pieces), response, call)
                if request.tools:
                    reply = replace(reply, tool_calls=library.tool_calls_of(response))
        except NodeError:
            raise
        except Exception as error:
            raise self._fault(error, call) from error
        yield reply

    def _call(self, request: ChatRequest) -> Call:
        from flyback.providers.chat.wire import Call

        shared, endpoint = self._connections, self._endpoint
        return Call(
            model=self.name,
            idempotency_key=request.site.idempotency_key,
            limits=shared.limits,
            clock=shared.clock,
            redactor=shared.redactor,
            has_key=bool(endpoint.api_key),
            is_openai=endpoint.is_openai,
            speaks_openai=endpoint.protocol == "openai",
        )

    def _reply(self, request: ChatRequest, text: str, response: StreamedResponse, call: Call) -> ChatReply:
        """Raises NodeError: the answer is not whole, or the provider's filter took it away."""
        told_why = (response.provider_details or {}).get("finish_reason") is not None
        if not told_why and not call.said_done and response.finish_reason != "content_filter":
            raise self._cut_short()
        reason = response.finish_reason or "stop"
        if reason == "content_filter" and not text:
            message = f"Model {self.name!r}: the provider's content filter took the answer away."
            raise ModelRefusedError(message, fix="Change the prompt, or choose another model.")
        used = response.usage
        usage = Usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens, calls=1)
        if not usage.tokens:
            usage = estimate(request.messages, text)
        return ChatReply(text, reason, priced(usage, self._prices), response.model_name)

    def _cut_short(self) -> NodeError:
        message = f"Model {self.name!r}: the connection ended before the answer was complete."
        return unavailable(message, fix="Look at the provider's status, and at the network in between.")

    def _fault(self, error: Exception, call: Call) -> NodeError:
        from flyback.providers.chat.library import fault_in

        redactor = self._connections.redactor
        known = fault_in(self.name, error, redactor)
        if known is not None:
            return known
        if call.began and not call.answer_began:
            return self._cut_short()
        said = cut(redactor.text(str(error))) or type(error).__name__
        return ModelUnreadableError(f"Model {self.name!r}: the answer cannot be read: {said}", fix=_FIX)
