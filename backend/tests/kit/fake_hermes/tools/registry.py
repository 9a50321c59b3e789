"""Hermes' registry of tools, as far as the adapter uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Registry:
    def __init__(self) -> None:
        self.tools: dict[str, tuple[str, dict[str, Any], Callable[..., str]]] = {}

    def register(
        self, *, name: str, toolset: str, schema: dict[str, Any], handler: Callable[..., str], override: bool
    ) -> None:
        assert override
        self.tools[name] = (toolset, schema, handler)


registry = Registry()
