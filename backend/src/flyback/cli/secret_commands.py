"""Commands for the key that stored secrets are sealed with."""

from __future__ import annotations

import asyncio

import typer

from flyback.cli.command import DEFAULT_DATA, DataOption, folder, hooks_of


def rotate(context: typer.Context, data: DataOption = DEFAULT_DATA) -> None:
    """Seal every stored secret with a new key. The server is stopped meanwhile.

    With the key in the environment, put the new key before the old one, separated by a blank, and run this; afterwards the
    old one can go.
    """
    count = asyncio.run(hooks_of(context).rotate_secrets(folder(data)))
    print(f"{count} secrets are sealed with the new key.")
