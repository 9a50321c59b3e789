"""What every command shares: its options, its way through a door, its exit codes, how a failure is printed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from flyback.cli.doors import DataDoor, RunDoor
from flyback.cli.hooks import Hooks
from flyback.cli.remote import RemoteError
from flyback.domain.errors import FlybackError

T = TypeVar("T")

SUCCESS = 0
RUN_FAILED = 1
BAD_INPUT = 2
PAUSED = 4
CANCELLED = 130

DataOption = Annotated[
    Path, typer.Option("--data", envvar="FLYBACK_DATA", help="The data folder.", show_default="~/.flyback")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DatabaseOption = typer.Option("--database-url", envvar="FLYBACK_DATABASE_URL", help="PostgreSQL instead of SQLite.")
DEFAULT_DATA = Path("~/.flyback")


def hooks_of(context: typer.Context) -> Hooks:
    hooks = context.find_object(Hooks)
    assert hooks is not None
    return hooks


def folder(data: Path) -> Path:
    return data.expanduser().absolute()


def on_runs(context: typer.Context, data: Path, work: Callable[[RunDoor], Awaitable[T]]) -> T:
    """Do a command's work where runs of a data folder are driven: here, or in the server that holds it."""

    async def go() -> T:
        async with hooks_of(context).open_runs(folder(data)) as door:
            return await work(door)

    return asyncio.run(go())


def on_data(context: typer.Context, data: Path, work: Callable[[DataDoor], Awaitable[T]]) -> T:
    """Do a command's work on what a data folder holds."""

    async def go() -> T:
        async with hooks_of(context).open_data(folder(data)) as door:
            return await work(door)

    return asyncio.run(go())


def print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_error(error: FlybackError) -> None:
    """Print what happened, where, and what to do, on stderr."""
    # A command says the same wherever its work was done.
    code = error.remote_code if isinstance(error, RemoteError) else error.code
    print(f"{code}: {error.message}", file=sys.stderr)
    for fault in error.faults:
        place = " ".join(part for part in (f"node {fault.node!r}" if fault.node else "", fault.field or "") if part)
        print(f"  {place + ': ' if place else ''}{fault.message}", file=sys.stderr)
        if fault.fix:
            print(f"    → {fault.fix}", file=sys.stderr)
    if error.fix:
        print(f"  → {error.fix}", file=sys.stderr)
