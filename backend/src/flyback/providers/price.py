"""What a call costs: its tokens at the entry's prices."""

from __future__ import annotations

from dataclasses import replace

from flyback.domain.model_entry import Prices
from flyback.domain.run import Usage


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """Return the usage with its price, where there is one."""
    if prices is None:
        return usage
    cost = usage.input_tokens * prices.input_per_million + usage.output_tokens * prices.output_per_million
    return replace(usage, cost=cost / 1_000_000, currency=prices.currency)
