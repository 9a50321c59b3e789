"""How long MCP servers may take and how much they may say. Settings; these are the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class McpLimits:
    listing_seconds: float = 30.0
    """To connect, and to hear what tools there are."""
    call_seconds: float = 600.0
    answer_bytes: int = 10 * 1024 * 1024
    """Of everything that a server sends while it is connected."""
    tools: int = 500
    description_characters: int = 8_000
