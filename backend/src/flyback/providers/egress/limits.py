"""How long a call to the outside may take and how much it may bring. Settings; these are the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EgressLimits:
    total_seconds: float = 60.0
    answer_bytes: int = 10 * 1024 * 1024
    """Of the answer, as it comes over the wire and as it is when unfolded."""
    redirects: int = 3
