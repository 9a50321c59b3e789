"""Model entries by owner. The key of an entry lies in `secrets`; an entry only says which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.json_value import dumps, loads
from flyback.domain.model_entry import ModelEntry, Prices
from flyback.domain.wire import time_on_wire
from flyback.storage.tables import ai_models


def all_of(conn: sa.Connection, owner_id: str) -> Sequence[ModelEntry]:
    """Return an owner's entries, the oldest first."""
    rows = conn.execute(
        sa.select(ai_models).where(ai_models.c.owner_id == owner_id).order_by(ai_models.c.created_at, ai_models.c.id)
    )
    return [_entry(row) for row in rows.mappings()]


def find(conn: sa.Connection, owner_id: str, model_id: str) -> ModelEntry | None:
    row = conn.execute(_one(owner_id, model_id)).mappings().one_or_none()
    return None if row is None else _entry(row)


def insert(conn: sa.Connection, entry: ModelEntry) -> None:
    conn.execute(sa.insert(ai_models).values(id=entry.id, owner_id=entry.owner_id, **_values(entry)))


def update(conn: sa.Connection, entry: ModelEntry) -> None:
    """Put the entry in the place of the one with its id."""
    conn.execute(
        sa.update(ai_models)
        .where(ai_models.c.owner_id == entry.owner_id, ai_models.c.id == entry.id)
        .values(**_values(entry))
    )


def delete(conn: sa.Connection, owner_id: str, model_id: str) -> None:
    conn.execute(sa.delete(ai_models).where(ai_models.c.owner_id == owner_id, ai_models.c.id == model_id))


def _one(owner_id: str, model_id: str) -> sa.Select[Any]:
    return sa.select(ai_models).where(ai_models.c.owner_id == owner_id, ai_models.c.id == model_id)


def _values(entry: ModelEntry) -> Mapping[str, object]:
    return {
        "name": entry.name,
        "provider": entry.provider,
        "base_url": entry.base_url,
        "model": entry.model,
        "secret_id": entry.secret_id,
        "prices_json": None if entry.prices is None else dumps(_prices_on_wire(entry.prices)),
        "fallbacks_json": dumps(list(entry.fallbacks)),
        "script_json": None if entry.script is None else dumps(entry.script),
        "tested_at": None if entry.tested_at is None else time_on_wire(entry.tested_at),
        "created_at": time_on_wire(entry.created_at),
        "updated_at": time_on_wire(entry.updated_at),
    }


def _prices_on_wire(prices: Prices) -> dict[str, JsonValue]:
    return {
        "inputPerMillion": prices.input_per_million,
        "outputPerMillion": prices.output_per_million,
        "currency": prices.currency,
    }


def _entry(row: sa.RowMapping) -> ModelEntry:
    fallbacks = cast("list[str]", loads(row["fallbacks_json"]))
    tested_at = row["tested_at"]
    return ModelEntry(
        id=row["id"],
        owner_id=row["owner_id"],
        name=row["name"],
        provider=row["provider"],
        base_url=row["base_url"],
        model=row["model"],
        secret_id=row["secret_id"],
        prices=_prices(row["prices_json"]),
        fallbacks=tuple(fallbacks),
        script=None if row["script_json"] is None else loads(row["script_json"]),
        tested_at=None if tested_at is None else datetime.fromisoformat(tested_at),
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
    )


def _prices(text: str | None) -> Prices | None:
    if text is None:
        return None
    stored = cast("dict[str, Any]", loads(text))
    return Prices(float(stored["inputPerMillion"]), float(stored["outputPerMillion"]), str(stored["currency"]))
