"""What the command line needs from the one place that wires everything."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from flyback.cli.doors import OpenData, OpenRuns


@dataclass(frozen=True, slots=True)
class ServeOptions:
    data: Path
    host: str
    port: int
    database_url: str | None
    worker: bool
    embedded_model: str
    open_browser: bool
    fetch_model: bool
    public_url: str | None = None
    """The address by which people reach the server through a proxy."""


@dataclass(frozen=True, slots=True)
class WorkOptions:
    data: Path
    database_url: str
    embedded_model: str
    host: str
    port: int | None
    """Where it can be watched; None for nowhere."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of what the doctor found."""

    level: Literal["ok", "note", "fault"]
    what: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class TidyOptions:
    older_than_days: int | None
    keep: int | None
    vacuum: bool


@dataclass(frozen=True, slots=True)
class TidyReport:
    runs: int
    large_values: int


@dataclass(frozen=True, slots=True)
class PullProgress:
    done_bytes: int
    total_bytes: int


class Pull(Protocol):
    def __call__(self, data: Path, model: str) -> AsyncIterator[PullProgress]: ...


@dataclass(frozen=True, slots=True)
class Hooks:
    open_runs: OpenRuns
    open_data: OpenData
    serve: Callable[[ServeOptions], None]
    work: Callable[[WorkOptions], None]
    diagnose: Callable[[Path, str | None], Sequence[Finding]]
    pull: Pull
    tidy: Callable[[Path, str | None, TidyOptions], TidyReport]
    rotate_secrets: Callable[[Path], Coroutine[object, object, int]]
    """Seal everything stored with a new key; return how many secrets that were."""
