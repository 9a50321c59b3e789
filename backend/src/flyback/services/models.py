"""Model entries: making, changing, testing them, and which one is the default.

A key goes in and never comes out. It belongs to the address that it was entered for: an entry whose base URL changes
loses it, unless a new one comes with the change. The first entry that answers a test becomes the default where the
person chose none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.errors import FlybackError, InvalidError, ModelTimeoutError, NotFoundError
from flyback.domain.graph import NodeId
from flyback.domain.model_entry import BUILT_IN, SCRIPTED, ModelEntry, Prices
from flyback.domain.redaction import Redactor
from flyback.domain.run import NO_USAGE, ErrorInfo, RunId, Usage
from flyback.domain.wire import time_on_wire
from flyback.engine.ports import CallSite, ChatModel, ChatReply, ChatRequest, Clock, Ids, Message
from flyback.providers.catalog import Catalog
from flyback.services.actor import Actor
from flyback.services.model_draft import ModelDraft, check_among, checked
from flyback.services.settings import DEFAULT_MODEL, read_settings
from flyback.storage import audit, secrets
from flyback.storage import models as stored
from flyback.storage import settings as stored_settings
from flyback.storage.database import Database
from flyback.storage.secret_box import SecretBox

_TEST_SECONDS = 60.0
_TEST_TOKENS = 200

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelView:
    """An entry as people see it. A built-in one has no times and is its name alone."""

    id: str
    name: str
    provider: str
    base_url: str | None
    model: str
    has_key: bool
    prices: Prices | None
    fallbacks: Sequence[str]
    is_default: bool
    built_in: bool
    script: JsonValue
    tested_at: str | None
    created_at: str | None
    updated_at: str | None


@dataclass(frozen=True, slots=True)
class ModelTested:
    """How a short question to a model went."""

    ok: bool
    text: str | None
    model: str | None
    latency_ms: int
    usage: Usage
    error: ErrorInfo | None


class Models:
    def __init__(
        self, database: Database, *, catalog: Catalog, box: SecretBox, redactor: Redactor, clock: Clock, ids: Ids
    ) -> None:
        self._database = database
        self._catalog = catalog
        self._box = box
        self._redactor = redactor
        self._clock = clock
        self._ids = ids

    async def all(self, actor: Actor) -> Sequence[ModelView]:
        """Return the built-in models, then the actor's entries, the oldest first."""

        def work(conn: Connection) -> list[ModelView]:
            default = read_settings(conn, actor.house).default_model
            views = [_built_in(name, default) for name in BUILT_IN]
            return views + [_view(entry, default) for entry in stored.all_of(conn, actor.house)]

        return await self._database.read(work)

    async def get(self, actor: Actor, model_id: str) -> ModelView:
        """Raises NotFoundError."""
        return await self._database.read(lambda conn: self._shown(conn, actor, model_id))

    async def create(self, actor: Actor, draft: ModelDraft) -> ModelView:
        """Store a new entry. It never takes the place of another.

        Raises:
            InvalidError: with the field that is at fault.
        """
        draft = checked(draft)
        now, model_id = self._clock.now(), self._ids.new()

        def work(conn: Connection) -> ModelView:
            others = stored.all_of(conn, actor.house)
            check_among(draft, others, None)
            entry = ModelEntry(
                id=model_id,
                owner_id=actor.house,
                name=draft.name,
                provider=draft.provider,
                base_url=draft.base_url,
                model=draft.model,
                secret_id=self._seal(conn, actor, draft.api_key),
                prices=draft.prices,
                fallbacks=tuple(draft.fallbacks),
                script=draft.script,
                tested_at=None,
                created_at=now,
                updated_at=now,
            )
            stored.insert(conn, entry)
            return self._settle(conn, actor, entry, draft, "model.made")

        return await self._changed(actor, work)

    async def update(self, actor: Actor, model_id: str, draft: ModelDraft) -> ModelView:
        """Put a whole draft in the place of an entry. Who names it by its old name is led along.

        Raises:
            NotFoundError, InvalidError.
        """
        draft = checked(draft)
        now = self._clock.now()

        def work(conn: Connection) -> ModelView:
            entry = _find(conn, actor, model_id)
            check_among(draft, stored.all_of(conn, actor.house), entry.id)
            moved = (draft.base_url, draft.provider) != (entry.base_url, entry.provider)
            secret_id = entry.secret_id
            if draft.api_key is not None or moved:
                _drop_secret(conn, entry)
                secret_id = self._seal(conn, actor, draft.api_key)
            changed = replace(
                entry,
                name=draft.name,
                provider=draft.provider,
                base_url=draft.base_url,
                model=draft.model,
                secret_id=secret_id,
                prices=draft.prices,
                fallbacks=tuple(draft.fallbacks),
                script=draft.script,
                tested_at=None if moved or draft.model != entry.model else entry.tested_at,
                updated_at=now,
            )
            stored.update(conn, changed)
            if changed.name != entry.name:
                self._lead_along(conn, actor, entry.name, changed.name)
            return self._settle(conn, actor, changed, draft, "model.changed")

        return await self._changed(actor, work)

    async def delete(self, actor: Actor, model_id: str) -> None:
        """Delete an entry, its key, and its place among the fallbacks of others. Raises NotFoundError, InvalidError."""

        def work(conn: Connection) -> None:
            entry = _find(conn, actor, model_id)
            stored.delete(conn, actor.house, entry.id)
            _drop_secret(conn, entry)
            self._lead_along(conn, actor, entry.name, None)
            self._audit(conn, actor, "model.deleted", entry, {})

        await self._changed(actor, work)

    async def set_default(self, actor: Actor, model_id: str) -> ModelView:
        """Make a model the default of new runs. Raises NotFoundError."""

        def work(conn: Connection) -> ModelView:
            name = self._shown(conn, actor, model_id).name
            stored_settings.put(conn, actor.house, DEFAULT_MODEL, name)
            return self._shown(conn, actor, model_id)

        return await self._changed(actor, work)

    async def test(self, actor: Actor, model_id: str) -> ModelTested:
        """Put one short question to the model itself, without its fallbacks. Raises NotFoundError."""
        view = await self.get(actor, model_id)
        began = self._clock.monotonic()
        try:
            model = await self._catalog.bare(view.id, owner_id=actor.house)
            if view.provider == SCRIPTED:
                return ModelTested(True, "The script can be played.", None, 0, NO_USAGE, None)
            reply = await asyncio.wait_for(_answer(model, f"test-{self._ids.new()}"), _TEST_SECONDS)
        except TimeoutError:
            late = ModelTimeoutError(f"Model {view.name!r} gave no answer within {_TEST_SECONDS:g} s.")
            return ModelTested(False, None, None, self._since(began), NO_USAGE, late.info)
        except FlybackError as error:
            return ModelTested(False, None, None, self._since(began), NO_USAGE, error.info)
        await self._answered(actor, view)
        return ModelTested(True, reply.text.strip(), reply.model, self._since(began), reply.usage, None)

    async def _answered(self, actor: Actor, view: ModelView) -> None:
        """Note that an entry works; where no default was chosen, it becomes the default."""
        now = self._clock.now()

        def work(conn: Connection) -> None:
            entry = None if view.built_in else stored.find(conn, actor.house, view.id)
            if entry is None:
                return
            stored.update(conn, replace(entry, tested_at=now))
            if DEFAULT_MODEL not in stored_settings.all_of(conn, actor.house):
                stored_settings.put(conn, actor.house, DEFAULT_MODEL, entry.name)

        await self._changed(actor, work)

    async def _changed(self, actor: Actor, work: Callable[[Connection], T]) -> T:
        try:
            return await self._database.write(work)
        finally:
            self._catalog.forget(actor.house)

    def _since(self, began: float) -> int:
        return round((self._clock.monotonic() - began) * 1000)

    def _shown(self, conn: Connection, actor: Actor, model_id: str) -> ModelView:
        default = read_settings(conn, actor.house).default_model
        if model_id in BUILT_IN:
            return _built_in(model_id, default)
        return _view(_find(conn, actor, model_id), default)

    def _seal(self, conn: Connection, actor: Actor, api_key: str | None) -> str | None:
        if not api_key:
            return None
        self._redactor.learn(api_key)
        secret_id = self._ids.new()
        now = time_on_wire(self._clock.now())
        secrets.put(conn, self._box, api_key, secret_id=secret_id, owner_id=actor.house, created_at=now)
        return secret_id

    def _settle(self, conn: Connection, actor: Actor, entry: ModelEntry, draft: ModelDraft, action: str) -> ModelView:
        if draft.is_default:
            stored_settings.put(conn, actor.house, DEFAULT_MODEL, entry.name)
        self._audit(conn, actor, action, entry, {"keyChanged": draft.api_key is not None})
        return _view(entry, read_settings(conn, actor.house).default_model)

    def _audit(
        self, conn: Connection, actor: Actor, action: str, entry: ModelEntry, details: Mapping[str, JsonValue]
    ) -> None:
        at, named = time_on_wire(self._clock.now()), {"name": entry.name, **details}
        audit.record(conn, at=at, actor_id=actor.user_id, action=action, subject=entry.id, details=named)

    def _lead_along(self, conn: Connection, actor: Actor, old: str, new: str | None) -> None:
        """Put the new name, or nothing, where the old one stands: among fallbacks and as the default."""
        for other in stored.all_of(conn, actor.house):
            if old in other.fallbacks:
                names = [new if name == old else name for name in other.fallbacks]
                stored.update(conn, replace(other, fallbacks=tuple(name for name in names if name is not None)))
        if stored_settings.all_of(conn, actor.house).get(DEFAULT_MODEL) == old:
            stored_settings.put(conn, actor.house, DEFAULT_MODEL, new)


async def _answer(model: ChatModel, run_id: str) -> ChatReply:
    site = CallSite(RunId(run_id), NodeId("test"), None, "node", 1)
    question = [Message("user", "Answer with the single word: ready")]
    async with aclosing(model.stream(ChatRequest(question, site, max_tokens=_TEST_TOKENS))) as parts:
        async for part in parts:
            if isinstance(part, ChatReply):
                return part
    raise AssertionError("a model ends with its reply or raises")


def _find(conn: Connection, actor: Actor, model_id: str) -> ModelEntry:
    if model_id in BUILT_IN:
        message = f"The model {model_id!r} is built in and stays as it is."
        raise InvalidError(message, fix="Add an entry of your own, and make it the default.")
    entry = stored.find(conn, actor.house, model_id)
    if entry is None:
        raise NotFoundError(f"There is no model entry {model_id!r}.", fix="Look at the list of models.")
    return entry


def _drop_secret(conn: Connection, entry: ModelEntry) -> None:
    if entry.secret_id is not None:
        secrets.delete(conn, entry.owner_id, entry.secret_id)


def _view(entry: ModelEntry, default: str) -> ModelView:
    return ModelView(
        id=entry.id,
        name=entry.name,
        provider=entry.provider,
        base_url=entry.base_url,
        model=entry.model,
        has_key=entry.secret_id is not None,
        prices=entry.prices,
        fallbacks=entry.fallbacks,
        is_default=default in (entry.name, entry.id),
        built_in=False,
        script=entry.script,
        tested_at=None if entry.tested_at is None else time_on_wire(entry.tested_at),
        created_at=time_on_wire(entry.created_at),
        updated_at=time_on_wire(entry.updated_at),
    )


def _built_in(name: str, default: str) -> ModelView:
    return ModelView(
        id=name,
        name=name,
        provider=name,
        base_url=None,
        model="",
        has_key=False,
        prices=None,
        fallbacks=(),
        is_default=default == name,
        built_in=True,
        script=None,
        tested_at=None,
        created_at=None,
        updated_at=None,
    )
