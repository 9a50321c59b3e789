"""A model entry with its fallbacks: when it cannot answer, the next one is asked.

Only before the first piece of an answer: what people have already read is not begun anew under their eyes. A stream that
broke in the middle is a failure like any other; the engine tries again, and then whoever is up answers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from flyback.domain.errors import NodeError
from flyback.engine.ports import ChatModel, ChatReply, ChatRequest, Decider


class ModelWithFallbacks:
    """The first model under its own name; behind it the others, in order."""

    def __init__(self, first: ChatModel, fallbacks: Sequence[ChatModel]) -> None:
        self._models = (first, *fallbacks)

    @property
    def name(self) -> str:
        return self._models[0].name

    @property
    def has_price(self) -> bool:
        return all(model.has_price for model in self._models)

    @property
    def decider(self) -> Decider | None:
        return self._models[0].decider

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        """Raises what the last model asked raises, with the failures of those before it in the message."""
        notes: list[str] = []
        last = len(self._models) - 1
        for index, model in enumerate(self._models):
            began = False
            try:
                async with aclosing(model.stream(request)) as parts:
                    async for part in parts:
                        began = True
                        yield _noted(part, notes)
                return
            except NodeError as error:
                if began or index == last:
                    raise _told(error, notes) from error
                notes.append(f"Model {model.name!r} could not answer ({error.code}): {error.message}")


def _noted(part: str | ChatReply, notes: Sequence[str]) -> str | ChatReply:
    return replace(part, notes=(*notes, *part.notes)) if notes and isinstance(part, ChatReply) else part


def _told(error: NodeError, notes: Sequence[str]) -> NodeError:
    if not notes:
        return error
    message = " ".join([error.message, "Before it:", *notes])
    told = type(error)(message, node=error.node, field=error.field, fix=error.fix)
    told.retry_after_seconds = error.retry_after_seconds
    return told
