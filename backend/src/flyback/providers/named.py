"""A model under another name and price: an entry that stands for a built-in model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from flyback.domain.model_entry import Prices
from flyback.engine.ports import ChatModel, ChatReply, ChatRequest, Decider
from flyback.providers.price import priced


class NamedModel:
    def __init__(self, name: str, model: ChatModel, prices: Prices | None) -> None:
        self.name = name
        self._model = model
        self._prices = prices

    @property
    def has_price(self) -> bool:
        return self._prices is not None or self._model.has_price

    @property
    def decider(self) -> Decider | None:
        return self._model.decider

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        async with aclosing(self._model.stream(request)) as parts:
            async for part in parts:
                yield replace(part, usage=priced(part.usage, self._prices)) if isinstance(part, ChatReply) else part
