"""Settings: a person's own language, and what the house has set for everybody: default model and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.errors import InvalidError
from flyback.domain.model_entry import BUILT_IN, EMBEDDED
from flyback.domain.wire import time_on_wire
from flyback.engine.ports import Clock
from flyback.services.actor import Actor
from flyback.storage import audit, models
from flyback.storage import settings as stored_settings
from flyback.storage.auth import house_of
from flyback.storage.database import Database

Language = Literal["en", "zh-CN"]

DEFAULT_MODEL: Final = "defaultModel"
LANGUAGE: Final = "language"
MAX_VISITS: Final = "maxVisits"
PARALLEL_NODES: Final = "parallelNodes"

_DEFAULTS: Mapping[str, JsonValue] = {DEFAULT_MODEL: EMBEDDED, LANGUAGE: None, MAX_VISITS: 50, PARALLEL_NODES: 16}

_OWN: Final = frozenset({LANGUAGE})
"""What everybody sets for themselves."""


@dataclass(frozen=True, slots=True)
class SettingsValues:
    default_model: str
    language: Language | None
    max_visits: int
    parallel_nodes: int


class Settings:
    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def get(self, actor: Actor) -> SettingsValues:
        return await self._database.read(lambda conn: read_settings(conn, actor.owner_id))

    async def change(self, actor: Actor, changes: Mapping[str, JsonValue]) -> SettingsValues:
        """Store the settings given by name; null puts the default back.

        Raises:
            ForbiddenError: what is the house's is changed by administrators.
            InvalidError: the default model is none that there is.
        """
        if changes.keys() - _OWN:
            actor.check("admin")

        def work(conn: Connection) -> SettingsValues:
            for name, value in changes.items():
                known = _model_name(conn, actor, value) if name == DEFAULT_MODEL else value
                stored_settings.put(conn, actor.owner_id if name in _OWN else actor.house, name, known)
            at = time_on_wire(self._clock.now())
            audit.record(conn, at=at, actor_id=actor.user_id, action="settings.changed", subject=", ".join(changes))
            return read_settings(conn, actor.owner_id)

        return await self._database.write(work)


def read_settings(conn: Connection, owner_id: str) -> SettingsValues:
    """Return the settings as they hold for somebody."""
    house = stored_settings.all_of(conn, house_of(conn, owner_id))
    own = stored_settings.all_of(conn, owner_id)
    values = {**_DEFAULTS, **house, **{name: own.get(name) for name in _OWN}}
    return SettingsValues(
        default_model=str(values[DEFAULT_MODEL]),
        language=cast("Language | None", values[LANGUAGE]),
        max_visits=_whole(values[MAX_VISITS], at_most=50),
        parallel_nodes=_whole(values[PARALLEL_NODES], at_most=64),
    )


def _model_name(conn: Connection, actor: Actor, wanted: JsonValue) -> JsonValue:
    """Return the name of the entry that is meant by name or id: an entry that is renamed or deleted is known by it."""
    if wanted is None or wanted in BUILT_IN:
        return wanted
    entries = models.all_of(conn, actor.house)
    for entry in entries:
        if wanted in (entry.name, entry.id):
            return entry.name
    names = ", ".join(repr(name) for name in (*BUILT_IN, *(entry.name for entry in entries)))
    raise InvalidError(
        f"No model is called {wanted!r}.", field="defaultModel", fix=f"Choose one of {names}, or add it."
    )


def _whole(value: JsonValue, *, at_most: int) -> int:
    assert isinstance(value, int)
    return max(1, min(value, at_most))
