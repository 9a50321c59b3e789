"""Commands for model entries and for the embedded model's file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from flyback.cli.command import DEFAULT_DATA, DataOption, JsonOption, folder, hooks_of, on_data, print_json
from flyback.cli.doors import DataDoor
from flyback.cli.hooks import PullProgress
from flyback.cli.plain import cell
from flyback.domain.errors import InvalidError
from flyback.services.model_draft import ModelDraft
from flyback.services.models import ModelView


def list_models(context: typer.Context, as_json: JsonOption = False, data: DataOption = DEFAULT_DATA) -> None:
    """List the model entries."""

    async def go(door: DataDoor) -> Sequence[ModelView]:
        return await door.list_models()

    found = on_data(context, data, go)
    if as_json:
        print_json([{"name": one.name, "provider": one.provider, "model": one.model} for one in found])
        return
    table = Table("name", "provider", "model", "default", box=None)
    for one in found:
        table.add_row(cell(one.name), one.provider, cell(one.model), "yes" if one.is_default else "")
    Console().print(table)


def add_model(
    context: typer.Context,
    name: str,
    provider: Annotated[str, typer.Option(help="openai-compatible, openai, anthropic, google, …")],
    model: Annotated[str, typer.Option(help="The provider's name of the model.")],
    base_url: Annotated[str | None, typer.Option(help="Of an OpenAI-compatible endpoint.")] = None,
    key_from: Annotated[str | None, typer.Option(help="The environment variable that holds the key.")] = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Add a model entry. The key comes from the environment, so that it stands in no shell history."""
    if key_from is not None and key_from not in os.environ:
        raise InvalidError(f"The environment has no {key_from!r}.", field="key-from", fix="Export it, then try again.")
    key = os.environ[key_from] if key_from is not None else None
    draft = ModelDraft(name, provider, base_url, model, key)

    async def go(door: DataDoor) -> ModelView:
        return await door.add_model(draft)

    print(on_data(context, data, go).name)


def pull_model(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="default or small")] = "default",
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Fetch the embedded model and check its hash. A fetch that was broken off goes on where it was."""
    asyncio.run(_show(hooks_of(context).pull(folder(data), model), model))


async def _show(progress: AsyncIterator[PullProgress], model: str) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task(f"embedded model, {model}", total=None)
        async for state in progress:
            bar.update(task, completed=state.done_bytes, total=state.total_bytes)
