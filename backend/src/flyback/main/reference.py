"""Writes the generated pages of `docs/reference/` from the code: node types, error codes, the command line, settings.

`python -m flyback.main.reference FOLDER` writes them; a test holds the committed pages against the code.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import click
import typer.main

from flyback.api.openapi import describe
from flyback.api.problems import STATUS
from flyback.cli.app import build
from flyback.domain import errors
from flyback.domain.errors import FlybackError, NodeError
from flyback.engine.nodes.base import NodeType, node_types
from flyback.main.operator import KEEP_DAYS, KEEP_RUNS, NUMBERS

SETTINGS: Mapping[str, str] = {
    "FLYBACK_DATA": "The data folder; `~/.flyback` without it. `--data` says the same.",
    "FLYBACK_PORT": "The port of `flyback serve`; 8321 without it.",
    "FLYBACK_WORKER_PORT": "Where `flyback worker` answers `/healthz`, `/readyz` and `/metrics`; nowhere without it.",
    "FLYBACK_DATABASE_URL": "A PostgreSQL database instead of SQLite in the data folder: `postgresql://user@host/name`.",
    "FLYBACK_EMBEDDED_MODEL": "`default`, `small`, or the path of a GGUF file.",
    "FLYBACK_PUBLIC_URL": "By which people reach the server through a proxy: `https://flows.example.org`.",
    "FLYBACK_SECRET_KEY": "The key that seals secrets, instead of the key file in the data folder.",
    "FLYBACK_EGRESS_ALLOW": "Hosts and networks that workflows may call although they are not public, with or without a port: "
    "`intranet.example, 10.1.0.0/16, 127.0.0.1:9000`. None without it.",
    "FLYBACK_CODE": "`off` switches code nodes off.",
    "FLYBACK_SKILL_SCRIPTS": "`on` lets agents run the Python scripts of their skills, in the sandbox; `off` without it.",
    "FLYBACK_MCP_FILE": "The operator's file of MCP servers; `mcp.toml` in the data folder without it.",
    "FLYBACK_LOG_FORMAT": "`text`, or `json` for one object a line; `text` without it.",
    "FLYBACK_LOG_LEVEL": "`debug`, `info`, `warning` or `error`; `info` without it.",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "Where traces go, by OTLP over HTTP; none are made without it. Needs `flyback[telemetry]`. "
    "The other `OTEL_` variables of OpenTelemetry hold too.",
    **{number.variable: f"{number.meaning} {number.default} without it." for number in NUMBERS},
    **{number.variable: f"{number.meaning} All stay where neither is set." for number in (KEEP_DAYS, KEEP_RUNS)},
    "HERMES_PYTHON": "The Python of an environment with a Hermes Agent; smart actions can then run on it.",
    "HERMES_HOME": "A folder with that Hermes' own configuration; an empty one each time without it.",
    "FLYBACK_HERMES_TOOLSETS": "Tool sets of Hermes that agents may use: `web, file`. None but `todo` without it.",
    "FLYBACK_FAILPOINTS": "For tests: where the process is to fail. Inert without it.",
}
"""Environment variables and what they set."""


def pages() -> Mapping[str, Callable[[], str]]:
    """Every generated file of the reference, by name."""
    return {
        "node-types.md": _node_types,
        "errors.md": _errors,
        "command-line.md": _command_line,
        "settings.md": _settings,
        "openapi.json": describe,
    }


def _node_types() -> str:
    parts = ["# Node types", "Generated from the code. Every node may also carry the fields of the last section.\n"]
    shared = set(_properties(node_types()["note"]))
    for kind in sorted(node_types().values(), key=lambda kind: kind.type):
        parts.append(f"## `{kind.type}` · {kind.title['en']} · {kind.title['zh-CN']}\n\n{kind.summary['en']}\n")
        own = {name: field for name, field in _properties(kind).items() if name not in shared}
        parts.append(_fields(own))
    parts.append("## Fields of every node\n")
    parts.append(_fields(_properties(node_types()["note"])))
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _properties(kind: NodeType[Any]) -> dict[str, dict[str, Any]]:
    return kind.config_type.model_json_schema(by_alias=True)["properties"]


def _fields(properties: Mapping[str, dict[str, Any]]) -> str:
    if not properties:
        return ""
    rows = [
        f"| `{name}` | {field.get('x-title', {}).get('en', '')} | {field.get('description', '')} |"
        for name, field in properties.items()
    ]
    return "\n".join(["| field | | |", "|---|---|---|", *rows, ""])


def _errors() -> str:
    rows = [
        "# Error codes\n",
        "Generated from the code. Codes are added to, never renamed.\n",
        "| code | HTTP | where it is met |",
        "|---|---|---|",
    ]
    for kind in sorted(_error_types(), key=lambda kind: kind.code):
        status = STATUS.get(kind.code)
        where = "a node or visit" if issubclass(kind, NodeError) else "a call or a run"
        told = (inspect.getdoc(kind) or "").splitlines()[0] if "__doc__" in vars(kind) and kind.__doc__ else ""
        rows.append(f"| `{kind.code}` | {status or '–'} | {where}{'. ' + told if told else ''} |")
    return "\n".join(rows) + "\n"


def _error_types() -> Iterator[type[FlybackError]]:
    """One class for each code, the first that has it."""
    seen: set[str] = set()
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, FlybackError) and kind not in (FlybackError, NodeError) and kind.code not in seen:
            seen.add(kind.code)
            yield kind


def _command_line() -> str:
    root = cast("click.Group", typer.main.get_command(build()))
    parts = ["# Command line\n", "Generated from the code.\n"]
    parts.append("Exit codes: 0 success, 1 the run failed, 2 bad input, 4 paused without a terminal, 130 cancelled.\n")
    for path, command in _commands(root, ("flyback",)):
        parts.append(f"## `{' '.join(path)}`\n\n{command.help or ''}\n")
        rows = [_parameter(parameter) for parameter in command.params if parameter.name != "help"]
        parts.append("\n".join(["| | |", "|---|---|", *rows, ""]) if rows else "")
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(cast("click.Group", command), (*path, name))
        else:
            yield (*path, name), command


def _parameter(parameter: click.Parameter) -> str:
    name = ", ".join(parameter.opts) if parameter.param_type_name == "option" else (parameter.name or "").upper()
    return f"| `{name}` | {getattr(parameter, 'help', None) or ''} |"


def _settings() -> str:
    rows = [f"| `{name}` | {what} |" for name, what in SETTINGS.items()]
    return "\n".join(["# Settings\n", "Environment variables.\n", "| variable | |", "|---|---|", *rows]) + "\n"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        (folder / name).write_text(page())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
