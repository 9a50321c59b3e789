"""The world outside, as the operator opened it: which addresses may be called, whether code runs, which tools there are.

`FLYBACK_EGRESS_ALLOW` names hosts and networks that are called although they are not public; `FLYBACK_CODE=off` switches
code nodes off; `FLYBACK_SKILL_SCRIPTS=on` lets agents run the scripts of their skills in the sandbox; `HERMES_PYTHON` names a
Hermes Agent; `mcp.toml` in the data folder, or the file that `FLYBACK_MCP_FILE` names, names MCP servers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flyback.domain.errors import InvalidError
from flyback.domain.redaction import Redactor
from flyback.engine.ports import Clock
from flyback.providers.agents.hermes.install import HermesInstall
from flyback.providers.egress.addresses import SETTING, AllowList
from flyback.providers.egress.egress import HttpEgress
from flyback.providers.mcp.servers import FILE as MCP_FILE
from flyback.providers.mcp.servers import HttpServer, McpServer, read_file, secrets_of
from flyback.providers.sandbox.sandbox import MontySandbox

CODE_SETTING = "FLYBACK_CODE"
SCRIPTS_SETTING = "FLYBACK_SKILL_SCRIPTS"
MCP_FILE_SETTING = "FLYBACK_MCP_FILE"


@dataclass(frozen=True, slots=True)
class Outside:
    allowed: AllowList
    egress: HttpEgress
    operator_egress: HttpEgress
    """To the operator's MCP servers too, wherever they are."""
    sandbox: MontySandbox
    runs_skill_scripts: bool
    mcp_servers: Sequence[McpServer]
    hermes: HermesInstall | None

    @classmethod
    def open(cls, environment: Mapping[str, str], data: Path, *, clock: Clock, redactor: Redactor) -> Outside:
        """Read the operator's settings. Nothing is connected to and no process is started.

        Raises:
            InvalidError: a setting cannot be read.
        """
        allowed = AllowList.read(environment.get(SETTING))
        servers = read_file(Path(environment.get(MCP_FILE_SETTING) or data / MCP_FILE), environment)
        redactor.learn(*secrets_of(servers))
        return cls(
            allowed,
            HttpEgress(allowed, clock=clock),
            HttpEgress(allowed.and_origins(_urls(servers)), clock=clock),
            MontySandbox(is_on=_is_on(environment, CODE_SETTING, otherwise="on")),
            _is_on(environment, SCRIPTS_SETTING, otherwise="off"),
            servers,
            HermesInstall.read(environment, data),
        )

    async def close(self) -> None:
        await self.sandbox.close()
        await self.egress.close()
        await self.operator_egress.close()


def _urls(servers: Sequence[McpServer]) -> list[str]:
    return [server.at.url for server in servers if isinstance(server.at, HttpServer)]


def _is_on(environment: Mapping[str, str], name: str, *, otherwise: str) -> bool:
    match (environment.get(name) or otherwise).strip().lower():
        case "on":
            return True
        case "off":
            return False
        case other:
            raise InvalidError(f"{name} is on or off, and not {other!r}.", field=name, fix=f"Set {name}={otherwise}.")
