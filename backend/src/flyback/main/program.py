"""The `flyback` program: the command line over the parts that this package wires."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from flyback.cli.app import run_program
from flyback.cli.doors import DataDoor, RunDoor
from flyback.cli.hooks import Finding, Hooks, PullProgress, ServeOptions, TidyOptions, TidyReport, WorkOptions

if TYPE_CHECKING:
    from flyback.main.product import ProductOptions


def main() -> None:
    run_program(
        Hooks(
            open_runs=_open_runs,
            open_data=_open_data,
            serve=_serve,
            work=_work,
            diagnose=_diagnose,
            pull=_pull,
            tidy=_tidy,
            rotate_secrets=_rotate_secrets,
        )
    )


# What a command does not use is not loaded: the server's parts alone take seconds.


def _open_runs(data: Path) -> AbstractAsyncContextManager[RunDoor]:
    from flyback.main.doors import open_runs

    return open_runs(_options(data))


def _open_data(data: Path) -> AbstractAsyncContextManager[DataDoor]:
    from flyback.main.doors import open_data

    return open_data(_options(data))


def _options(data: Path) -> ProductOptions:
    from flyback.main.product import ProductOptions

    database_url = os.environ.get("FLYBACK_DATABASE_URL") or None
    return ProductOptions(data, database_url, os.environ.get("FLYBACK_EMBEDDED_MODEL", "default"))


def _serve(options: ServeOptions) -> None:
    from flyback.main.serving import serve

    serve(options)


def _work(options: WorkOptions) -> None:
    from flyback.main.serving import work

    work(options)


def _diagnose(data: Path, database_url: str | None) -> Sequence[Finding]:
    from flyback.main.doctor import diagnose

    return diagnose(data, database_url)


def _tidy(data: Path, database_url: str | None, options: TidyOptions) -> TidyReport:
    from flyback.main.housekeeping import tidy_once

    return tidy_once(data, database_url, options)


async def _pull(data: Path, model: str) -> AsyncGenerator[PullProgress]:
    from flyback.main.pulling import pull

    async for progress in pull(data, model):
        yield progress


async def _rotate_secrets(data: Path) -> int:
    from flyback.main.rotating import rotate_secrets

    return await rotate_secrets(_options(data))
