"""A model entry: how a person names a model, where it is and what it costs.

The names `embedded` and `scripted` are built in. They are always there and nobody can take them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import JsonValue

EMBEDDED: Final = "embedded"
SCRIPTED: Final = "scripted"
BUILT_IN: Final = (EMBEDDED, SCRIPTED)


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost."""

    input_per_million: float
    output_per_million: float
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One stored entry. The key itself is not in it, only which secret holds it."""

    id: str
    owner_id: str
    name: str
    provider: str
    base_url: str | None
    model: str
    """The provider's name of the model."""
    secret_id: str | None
    prices: Prices | None
    fallbacks: tuple[str, ...]
    """Names of entries that are asked in this order when this one cannot answer."""
    script: JsonValue
    tested_at: datetime | None
    """When it last answered a test."""
    created_at: datetime
    updated_at: datetime
