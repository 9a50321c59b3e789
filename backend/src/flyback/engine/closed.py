"""The world outside as an engine sees it that was given none: nothing is called, run or used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from pydantic import JsonValue

from flyback.domain.errors import CodeOffError, EgressRefusedError, NotFoundError, ToolUnknownError
from flyback.domain.events import LiveText
from flyback.domain.run import VersionChoice
from flyback.engine.ports import CodeResult, FoundWorkflow, Tool, ToolAnswer, WebAnswer, WebRequest


class ClosedEgress:
    async def fetch(self, request: WebRequest) -> WebAnswer:
        raise EgressRefusedError(f"nothing may be called from here, so {request.url!r} was not")


class Unwatched:
    """Where live text goes that nobody reads."""

    def publish(self, text: LiveText) -> None:
        """Let it go."""


class ClosedSandbox:
    async def run(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:  # noqa: ARG002
        raise CodeOffError("there is no sandbox here to run code in")


class ClosedTools:
    async def of(self, server: str, *, owner_id: str) -> Sequence[Tool]:  # noqa: ARG002
        _unknown(server)

    async def asks_before(self, server: str, tool: str, *, owner_id: str) -> bool:  # noqa: ARG002
        _unknown(server)

    async def call(
        self,
        server: str,
        tool: str,  # noqa: ARG002
        arguments: Mapping[str, JsonValue],  # noqa: ARG002
        *,
        owner_id: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
    ) -> ToolAnswer:
        _unknown(server)


class ClosedShelf:
    async def find(self, name: str, version: VersionChoice, *, owner_id: str) -> FoundWorkflow:  # noqa: ARG002
        raise NotFoundError(f"there is no workflow {name!r} here")


def _unknown(server: str) -> NoReturn:
    raise ToolUnknownError(f"there is no MCP server {server!r} here")
