"""Commands for the people of an installation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from flyback.cli.command import DEFAULT_DATA, DataOption, JsonOption, on_data, print_json
from flyback.cli.doors import DataDoor
from flyback.cli.plain import cell
from flyback.services.actor import Role
from flyback.storage.auth import UserRow

_NameArgument = Annotated[str, typer.Argument(help="The name of the person.")]
_RoleOption = Annotated[Role, typer.Option(help="Viewers look, editors make their own, admins look after the house.")]


def list_users(context: typer.Context, as_json: JsonOption = False, data: DataOption = DEFAULT_DATA) -> None:
    """List the people."""

    async def go(door: DataDoor) -> Sequence[UserRow]:
        return await door.list_users()

    found = on_data(context, data, go)
    if as_json:
        print_json([{"id": one.id, "name": one.name, "role": one.role, "createdAt": one.created_at} for one in found])
        return
    table = Table("name", "role", "since", box=None)
    for one in found:
        table.add_row(cell(one.name), one.role, one.created_at[:10])
    Console().print(table)


def add_user(
    context: typer.Context, name: _NameArgument, role: _RoleOption = "editor", data: DataOption = DEFAULT_DATA
) -> None:
    """Add somebody, and print a sign-in link for them, good for one day."""

    async def go(door: DataDoor) -> str:
        return await door.add_user(name, role)

    print(on_data(context, data, go))


def change_role(context: typer.Context, name: _NameArgument, role: Role, data: DataOption = DEFAULT_DATA) -> None:
    """Give somebody another role. It holds at once."""

    async def go(door: DataDoor) -> None:
        await door.change_role(name, role)

    on_data(context, data, go)


def remove_user(context: typer.Context, name: _NameArgument, data: DataOption = DEFAULT_DATA) -> None:
    """Remove somebody, and end their sessions and keys at once."""

    async def go(door: DataDoor) -> None:
        await door.remove_user(name)

    on_data(context, data, go)
