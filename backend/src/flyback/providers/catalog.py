"""The models by name: the built-in ones, and the entries that an owner made.

What the database says is kept for a moment, so that a run does not ask it at every call; this process's own changes are
seen at once, those of another within two seconds. An entry that did not change keeps its model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from flyback.domain.errors import ConfigInvalidError, InvalidError, ModelUnknownError, NodeError
from flyback.domain.model_entry import EMBEDDED, SCRIPTED, ModelEntry
from flyback.engine.ports import ChatModel, Clock
from flyback.providers.chat.http_model import ChatConnections, HttpChatModel
from flyback.providers.chat.vendors import VENDORS, Endpoint
from flyback.providers.fallback import ModelWithFallbacks
from flyback.providers.named import NamedModel
from flyback.providers.scripted import CallJournal, ScriptedModel

_FRESH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class OpenedEntry:
    """An entry with its key. `trouble` says why it cannot be used: its key cannot be read, say."""

    entry: ModelEntry
    api_key: str | None = None
    trouble: str | None = None


class EntryStore(Protocol):
    """Where the entries of an owner are kept."""

    async def load(self, owner_id: str) -> Sequence[OpenedEntry]: ...


@dataclass(frozen=True, slots=True)
class _Shelf:
    """An owner's entries, as they were a moment ago."""

    read_at: float
    opened: Mapping[str, OpenedEntry]
    """By id."""
    models: Mapping[str, ChatModel]
    """By id, without their fallbacks."""
    ids: Mapping[str, str]
    """Name to id."""


class Catalog:
    """Finds a model by its name or id."""

    def __init__(
        self,
        store: EntryStore,
        *,
        built_in: Mapping[str, ChatModel],
        connections: ChatConnections,
        clock: Clock,
        journal: CallJournal,
    ) -> None:
        """`built_in`: the models `embedded` and `scripted`, by name."""
        self._store = store
        self._built_in = built_in
        self._connections = connections
        self._clock = clock
        self._journal = journal
        self._shelves: dict[str, _Shelf] = {}
        self._reading = asyncio.Lock()

    async def find(self, name: str, *, owner_id: str) -> ChatModel:
        """Return the model of that name or id, its fallbacks behind it.

        Raises:
            ModelUnknownError: nobody is called so.
            ConfigInvalidError: the entry cannot be used as it stands.
        """
        if name in self._built_in:
            return self._built_in[name]
        shelf = await self._shelf(owner_id, fresh=False)
        if _id_of(shelf, name) is None:
            shelf = await self._shelf(owner_id, fresh=True)
        model_id = _id_of(shelf, name)
        if model_id is None:
            raise _unknown(name, [*self._built_in, *shelf.ids])
        return self._with_fallbacks(shelf, model_id)

    async def bare(self, model_id: str, *, owner_id: str) -> ChatModel:
        """Return a model without its fallbacks, as the database has it now. Raises what `find` raises."""
        if model_id in self._built_in:
            return self._built_in[model_id]
        shelf = await self._shelf(owner_id, fresh=True)
        if model_id not in shelf.opened:
            raise _unknown(model_id, list(shelf.ids))
        return _usable(shelf, model_id)

    def forget(self, owner_id: str) -> None:
        """Read the owner's entries anew at the next question. An answer in flight keeps its model."""
        shelf = self._shelves.get(owner_id)
        if shelf is not None:
            self._shelves[owner_id] = _Shelf(float("-inf"), shelf.opened, shelf.models, shelf.ids)

    async def _shelf(self, owner_id: str, *, fresh: bool) -> _Shelf:
        shelf = self._shelves.get(owner_id)
        if shelf is not None and not fresh and self._clock.monotonic() - shelf.read_at < _FRESH_SECONDS:
            return shelf
        async with self._reading:
            now = self._clock.monotonic()
            read = await self._store.load(owner_id)
            shelf = self._arrange(read, self._shelves.get(owner_id), now)
            self._shelves[owner_id] = shelf
        return shelf

    def _arrange(self, read: Sequence[OpenedEntry], before: _Shelf | None, now: float) -> _Shelf:
        models: dict[str, ChatModel] = {}
        shown: dict[str, OpenedEntry] = {}
        for opened in read:
            entry_id = opened.entry.id
            kept = before.models.get(entry_id) if before is not None and before.opened.get(entry_id) == opened else None
            try:
                models[entry_id] = kept or self._make(opened)
                shown[entry_id] = opened
            except InvalidError as error:
                shown[entry_id] = replace(opened, trouble=error.message)
        return _Shelf(now, shown, models, {opened.entry.name: opened.entry.id for opened in read})

    def _make(self, opened: OpenedEntry) -> ChatModel:
        entry = opened.entry
        if entry.provider == SCRIPTED:
            return self._scripted(entry)
        if entry.provider == EMBEDDED:
            return NamedModel(entry.name, self._built_in[EMBEDDED], entry.prices)
        vendor = VENDORS.get(entry.provider)
        if vendor is None:
            raise InvalidError(f"this program knows no provider {entry.provider!r}")
        base_url = entry.base_url or vendor.base_url
        if base_url is None:
            raise InvalidError("it has no base URL")
        endpoint = Endpoint(
            protocol=vendor.protocol,
            base_url=base_url,
            model=entry.model,
            api_key=opened.api_key,
            is_openai=entry.provider == "openai",
        )
        return HttpChatModel(entry.name, endpoint, self._connections, prices=entry.prices)

    def _scripted(self, entry: ModelEntry) -> ChatModel:
        return ScriptedModel(
            clock=self._clock, journal=self._journal, name=entry.name, script=entry.script, prices=entry.prices
        )

    def _with_fallbacks(self, shelf: _Shelf, model_id: str) -> ChatModel:
        first = _usable(shelf, model_id)
        others: list[ChatModel] = []
        for name in shelf.opened[model_id].entry.fallbacks:
            other = self._built_in.get(name) or _model_or_none(shelf, name)
            if other is not None:
                others.append(other)
        return ModelWithFallbacks(first, others) if others else first


def _id_of(shelf: _Shelf, name: str) -> str | None:
    return shelf.ids.get(name) or (name if name in shelf.opened else None)


def _model_or_none(shelf: _Shelf, name: str) -> ChatModel | None:
    model_id = _id_of(shelf, name)
    if model_id is None or shelf.opened[model_id].trouble is not None:
        return None
    return shelf.models[model_id]


def _usable(shelf: _Shelf, model_id: str) -> ChatModel:
    opened = shelf.opened[model_id]
    if opened.trouble is not None:
        message = f"Model {opened.entry.name!r} cannot be used: {opened.trouble}"
        raise ConfigInvalidError(message, field="model", fix="Open the model entry, enter its key again, and save it.")
    return shelf.models[model_id]


def _unknown(name: str, known: Sequence[str]) -> NodeError:
    names = ", ".join(repr(other) for other in known[:20])
    return ModelUnknownError(f"No model is called {name!r}.", field="model", fix=f"Choose one of {names}, or add it.")
