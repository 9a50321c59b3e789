"""How far one run may go. Settings; these are the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunLimits:
    driven_seconds: float = 86_400.0
    """Waiting for a person never counts."""
    events: int = 100_000
    output_bytes: int = 5 * 1024 * 1024
    """Of what one node gives."""
