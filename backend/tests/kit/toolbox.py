"""An MCP server as the engine sees one, whose tools answer as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue

from flyback.engine.ports import Tool, ToolAnswer


class Toolbox:
    """It keeps what its tools were called with. `asks` names those before which a person is asked."""

    def __init__(
        self,
        *answers: ToolAnswer | Exception,
        names: Sequence[str] = (),
        asks: Collection[str] = (),
        description: str | None = None,
    ) -> None:
        """`description` is what every tool says of itself."""
        self._answers = list(answers) or [ToolAnswer("done", None)]
        self._names = names
        self._description = description
        self.asks = set(asks)
        self.called: list[tuple[str, str, Mapping[str, JsonValue], str]] = []
        """Server, tool, arguments and key of each call."""
        self.hangs = False
        self.came = asyncio.Event()
        """Set when a call has come."""

    @property
    def used(self) -> list[tuple[str, Mapping[str, JsonValue]]]:
        return [(tool, arguments) for _, tool, arguments, _ in self.called]

    async def of(self, server: str, *, owner_id: str) -> Sequence[Tool]:
        schema: Mapping[str, JsonValue] = {"type": "object", "properties": {}}
        said = self._description
        return [Tool(server, name, said or f"The {name}.", schema, approval=name in self.asks) for name in self._names]

    async def asks_before(self, server: str, tool: str, *, owner_id: str) -> bool:
        return tool in self.asks

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, JsonValue],
        *,
        owner_id: str,
        key: str,
    ) -> ToolAnswer:
        self.called.append((server, tool, arguments, key))
        self.came.set()
        if self.hangs:
            await asyncio.Event().wait()
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer
