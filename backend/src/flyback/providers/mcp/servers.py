"""The MCP servers there are, and the operator's file that names some of them.

A program is started only for a server of that file: a person, a workflow or an import can add addresses and nothing else.
`${NAME}` in its values stands for a variable of the server's environment, so that the file needs no secrets in it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from flyback.domain.errors import InvalidError

FILE = "mcp.toml"
ALL = "*"
"""In place of the names of all tools."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class HttpServer:
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class StdioServer:
    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class McpServer:
    id: str
    name: str
    at: HttpServer | StdioServer
    of_operator: bool
    """Named in the operator's file, and therefore allowed to be local."""
    tools: Sequence[str] | None = None
    """The only tools of it that are seen; None means all."""
    approval: Sequence[str] = ()
    """The tools before which a person is asked; `*` stands for all."""

    def asks_before(self, tool: str) -> bool:
        """Whether a person is asked before this tool runs."""
        return ALL in self.approval or tool in self.approval


Pins = Mapping[str, str]
"""Tool name to the hash of what it said of itself when it was accepted."""

Shown = Mapping[str, JsonValue]
"""Tool name to `{description, inputSchema}`, for whoever has to say whether a change is fine."""


class ServerBook(Protocol):
    """Where the servers of an owner and their pins are kept."""

    async def find(self, name: str, *, owner_id: str) -> McpServer | None:
        """Return the server of this name or id."""
        ...

    async def pins(self, server: McpServer, *, owner_id: str) -> Pins | None:
        """Return what was accepted, or None where nobody has seen its tools yet."""
        ...

    async def pin(self, server: McpServer, pins: Pins, shown: Shown, *, owner_id: str) -> None:
        """Keep what is accepted from now on, and what a person is shown of it later."""
        ...

    async def shown(self, server: McpServer, *, owner_id: str) -> Shown:
        """Return what a person is shown of that which was accepted; what was accepted long ago may be missing."""
        ...


class _Server(BaseModel):
    model_config = ConfigDict(extra="forbid")

    command: str | None = Field(default=None, min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = Field(default=None, min_length=1)
    headers: dict[str, str] = {}
    tools: list[str] | None = None
    approval: list[str] = []


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    servers: dict[str, _Server] = {}


def read_file(file: Path, environment: Mapping[str, str]) -> tuple[McpServer, ...]:
    """Read the operator's servers; none where there is no file.

    Raises:
        InvalidError: the file cannot be read, with the place that is at fault.
    """
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, str(error)) from error
    try:
        read = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(file, str(error)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _unreadable(file, f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error
    return tuple(_server(file, name, given, environment) for name, given in read.servers.items())


def secrets_of(servers: Sequence[McpServer]) -> list[str]:
    """The values of the operator's servers that nobody should read anywhere."""
    found: list[str] = []
    for server in servers:
        match server.at:
            case HttpServer():
                for value in server.at.headers.values():
                    found += [value, *value.split()]
            case StdioServer():
                found += server.at.env.values()
    return found


def _server(file: Path, name: str, given: _Server, environment: Mapping[str, str]) -> McpServer:
    if not _NAME.fullmatch(name):
        raise _unreadable(file, f"{name!r} is no name for a server: letters, digits, '-' and '_', at most 40")
    if (given.command is None) == (given.url is None):
        raise _unreadable(file, f"servers.{name} has either a command or a url")

    def filled(value: str) -> str:
        def variable(found: re.Match[str]) -> str:
            if found[1] not in environment:
                raise _unreadable(file, f"servers.{name} names the variable {found[1]!r}, which is not set")
            return environment[found[1]]

        return _VARIABLE.sub(variable, value)

    at: HttpServer | StdioServer
    if given.url is not None:
        at = HttpServer(filled(given.url), {key: filled(value) for key, value in given.headers.items()})
    else:
        assert given.command is not None
        env = {key: filled(value) for key, value in given.env.items()}
        at = StdioServer(filled(given.command), [filled(arg) for arg in given.args], env, given.cwd)
    return McpServer(f"operator-{name}", name, at, of_operator=True, tools=given.tools, approval=given.approval)


def _unreadable(file: Path, why: str) -> InvalidError:
    return InvalidError(
        f"The file of MCP servers {file.name!r} cannot be used: {why}.", fix="Correct it, or move it away."
    )
