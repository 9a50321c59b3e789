"""The world outside as an engine sees it that was given none: nothing is called, run or used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from pydantic import JsonValue

from flyback.domain.errors import CodeOffError, EgressRefusedError, NotFoundError, SkillNotFoundError, ToolUnknownError
from flyback.domain.events import LiveText
from flyback.domain.run import RunId, VersionChoice
from flyback.engine.ports import CodeResult, FoundWorkflow, Skill, Tool, ToolAnswer, WebAnswer, WebRequest


class ClosedEgress:
    async def fetch(self, request: WebRequest) -> WebAnswer:
        raise EgressRefusedError(f"nothing may be called from here, so {request.url!r} was not")


class Unwatched:
    """Where live text goes that nobody reads."""

    def publish(self, text: LiveText) -> None:
        """Let it go."""


class ClosedSandbox:
    async def run(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:
        raise CodeOffError("there is no sandbox here to run code in")


class ClosedTools:
    async def of(self, server: str, *, owner_id: str) -> Sequence[Tool]:
        _unknown(server)

    async def asks_before(self, server: str, tool: str, *, owner_id: str) -> bool:
        _unknown(server)

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, JsonValue],
        *,
        owner_id: str,
        key: str,
    ) -> ToolAnswer:
        _unknown(server)


class ClosedSkills:
    async def find(self, skill_id: str, *, owner_id: str, run_id: RunId) -> Skill:
        raise SkillNotFoundError(f"there is no skill {skill_id!r} here")

    async def read_file(self, skill_id: str, path: str, *, owner_id: str, run_id: RunId) -> str:
        raise SkillNotFoundError(f"there is no skill {skill_id!r} here")


class ClosedShelf:
    async def find(self, name: str, version: VersionChoice, *, owner_id: str) -> FoundWorkflow:
        raise NotFoundError(f"there is no workflow {name!r} here")


def _unknown(server: str) -> NoReturn:
    raise ToolUnknownError(f"there is no MCP server {server!r} here")
