"""How long a model call may take and how much it may bring. Settings; these are the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallLimits:
    first_byte_seconds: float = 60.0
    between_chunks_seconds: float = 60.0
    total_seconds: float = 600.0
    answer_bytes: int = 10 * 1024 * 1024
    """Of the answer as it comes over the wire."""
