"""Commands that read and write graph files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flyback.cli.command import BAD_INPUT, DEFAULT_DATA, SUCCESS, DataOption, JsonOption, on_data, print_json
from flyback.cli.doors import DataDoor, WireObject
from flyback.cli.files import check_file, read_checked
from flyback.cli.plain import visible

FileArgument = Annotated[Path, typer.Argument(help="A graph file, or - for standard input.")]


def validate(file: FileArgument, as_json: JsonOption = False) -> None:
    """Check a graph file: every fault at once, each with its remedy."""
    result = check_file(file)
    if as_json:
        print_json(result.on_wire())
    else:
        print("\n".join(result.lines()))
    raise typer.Exit(SUCCESS if result.valid else BAD_INPUT)


def import_file(context: typer.Context, file: FileArgument, data: DataOption = DEFAULT_DATA) -> None:
    """Make a workflow of a graph file. Nothing in it is executed."""
    checked = read_checked(file)

    async def go(door: DataDoor) -> WireObject:
        return await door.import_workflow(checked.document)

    made = on_data(context, data, go)
    print(f"{made['id']} {visible(made['name'])}")


def export(context: typer.Context, workflow: str, data: DataOption = DEFAULT_DATA) -> None:
    """Print the graph file of a workflow, by id or by name. It never holds secrets."""

    async def go(door: DataDoor) -> WireObject:
        return await door.export_workflow(workflow)

    print_json(on_data(context, data, go))
