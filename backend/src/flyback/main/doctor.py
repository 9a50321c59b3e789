"""Looks at an installation: what is set up, what is missing, how to fix it. It changes nothing and connects to no provider."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from flyback.api.page import built_page
from flyback.cli.hooks import Finding
from flyback.domain.errors import DataFolderHeldError, FlybackError, InvalidError
from flyback.main.address import read_address
from flyback.main.product import DATABASE_FILE, ProductOptions, database_url
from flyback.providers.agents.hermes.install import PYTHON_SETTING, TOOLS_SETTING, TRIED_VERSION, HermesInstall
from flyback.providers.embedded.model_file import is_here
from flyback.providers.embedded.releases import FOLDER, releases
from flyback.services.model_offers import OfferedModel, offered_by_environment
from flyback.storage.data_folder import DataFolder
from flyback.storage.inspect import DatabaseState, look_at

_LITTLE_DISK_BYTES = 2_000_000_000
_CLOCK_SECONDS = 5.0
_THIS_YEAR = 2026
"""When this was written: a clock that says less is wrong."""


def diagnose(data: Path, url: str | None) -> Sequence[Finding]:
    return [*_folder(data), *_database(data, url), *_models(data), *_hermes(data), *_page()]


def _folder(data: Path) -> Iterator[Finding]:
    if not data.exists():
        yield Finding("note", f"The data folder {str(data)!r} is not there yet.", "The first `flyback serve` makes it.")
        return
    if data.stat().st_mode & 0o077:
        yield Finding("fault", f"Others can read the data folder {str(data)!r}.", f"chmod 700 {data}")
    free = shutil.disk_usage(data).free
    if free < _LITTLE_DISK_BYTES:
        yield Finding(
            "fault", f"Only {free / 1e9:.1f} GB are free for {str(data)!r}.", "Make room, or move it (--data)."
        )
    else:
        yield Finding("ok", f"Data folder {str(data)!r}, {free / 1e9:.0f} GB free.")
    yield _holder(data)


def _holder(data: Path) -> Finding:
    try:
        DataFolder.hold(data).release()
    except DataFolderHeldError as held:
        address = read_address(data)
        return Finding("ok", f"{held.message} {f'It serves {address.base_url}.' if address else ''}".strip())
    return Finding("note", "No server runs on it.", "Start one with: flyback serve")


def _database(data: Path, url: str | None) -> Iterator[Finding]:
    options = ProductOptions(data, url)
    if url is None and not (data / DATABASE_FILE).exists():
        yield Finding("note", "There is no database yet.", "The first `flyback serve` makes it.")
        return
    try:
        state = look_at(database_url(options))
    except FlybackError as error:
        yield Finding("fault", f"Database: {error.message}", error.fix or "")
        return
    kind = "SQLite" if url is None else "PostgreSQL"
    if state.is_current:
        yield Finding("ok", f"Database: {kind}, its tables are up to date.")
    else:
        yield Finding("note", f"Database: {kind}, made by an older version.", "The next start brings it up to date.")
    yield from _clock(state, shared=url is not None)
    yield from _work(state, shared=url is not None)


def _clock(state: DatabaseState, *, shared: bool) -> Iterator[Finding]:
    if datetime.now(UTC).year < _THIS_YEAR:
        yield Finding("fault", f"The clock says {datetime.now(UTC):%Y-%m-%d}.", "Set it, or let it be set by NTP.")
    elif shared and abs(state.clock_ahead_seconds) > _CLOCK_SECONDS:
        yield Finding(
            "note",
            f"The database's clock is {state.clock_ahead_seconds:+.0f} s from this machine's.",
            "Runs are safe; times that people see are not right. Let both be set by NTP.",
        )
    else:
        yield Finding("ok", "The clock.")


def _work(state: DatabaseState, *, shared: bool) -> Iterator[Finding]:
    if shared and state.workers == 0 and state.open_runs:
        yield Finding(
            "fault", f"{state.open_runs} runs are to be driven, and no worker lives.", "Start one with: flyback worker"
        )
    elif shared:
        yield Finding("ok", f"{state.workers} workers, {state.open_runs} runs to be driven.")


def _models(data: Path) -> Iterator[Finding]:
    here = [release.name for release in releases() if is_here(release, data / FOLDER)]
    if here:
        yield Finding("ok", f"Embedded model: {', '.join(here)}.")
    else:
        yield Finding("note", "The embedded model is not here yet.", "Fetch it with: flyback models pull")
    for offer in offered_by_environment(os.environ):
        yield Finding(
            "note", f"{offer.variable} is set, but no model uses it.", f"Make one with: {_add_command(offer)}"
        )


def _add_command(offer: OfferedModel) -> str:
    model = offer.model or "<model>"
    return f"flyback models add {offer.name} --provider {offer.provider} --model {model} --key-from {offer.variable}"


def _hermes(data: Path) -> Iterator[Finding]:
    """Whether smart actions can run on a Hermes Agent: that of an environment of its own."""
    try:
        install = HermesInstall.read(os.environ, data)
    except InvalidError as error:
        yield Finding("fault", f"Hermes Agent: {error.message}", error.fix or "")
        return
    if install is None:
        how = (
            "To use it, install it into an environment of its own and name its Python: uv venv ~/.hermes-env && "
            f"uv pip install -p ~/.hermes-env 'hermes-agent=={TRIED_VERSION}.*' && export {PYTHON_SETTING}=~/.hermes-env/bin/python"
        )
        yield Finding("note", "No Hermes Agent is connected; agents run on the builtin runtime.", how)
        return
    try:
        version = install.version()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        fix = f"Install it there: uv pip install -p {install.python} 'hermes-agent=={TRIED_VERSION}.*'"
        yield Finding("fault", f"Hermes Agent: {str(install.python)!r} has none: {error}.", fix)
        return
    tools = f"tool sets {', '.join(install.toolsets)} ({TOOLS_SETTING} grants more)"
    if not version.startswith(TRIED_VERSION):
        yield Finding(
            "note", f"Hermes Agent {version}; tried is {TRIED_VERSION}.", f"It may work; else: {TRIED_VERSION}.*"
        )
        return
    yield Finding("ok", f"Hermes Agent {version}, {tools}.")


def _page() -> Iterator[Finding]:
    if built_page().joinpath("index.html").is_file():
        yield Finding("ok", "The page is built.")
    else:
        yield Finding("fault", "The page is not built.", "In a source checkout: make setup")
