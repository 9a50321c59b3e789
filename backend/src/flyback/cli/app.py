"""The command line, put together.

Exit codes: 0 success, 1 the run failed, 2 bad input, 4 paused without a terminal, 130 cancelled.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flyback import __version__
from flyback.cli import (
    file_commands,
    history_commands,
    model_commands,
    people_commands,
    run_commands,
    secret_commands,
    serve_commands,
)
from flyback.cli.command import BAD_INPUT, CANCELLED, print_error
from flyback.cli.hooks import Hooks
from flyback.domain.errors import FlybackError


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"flyback {__version__}")
        raise typer.Exit


def build() -> typer.Typer:
    """Return the program. It prints what a command says on stdout and what went wrong on stderr."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Draw, run and understand agent workflows.",
    )
    app.callback()(program)
    app.command()(serve_commands.serve)
    app.command()(run_commands.run)
    app.command()(history_commands.runs)
    app.command()(history_commands.show)
    app.command()(history_commands.replay)
    app.command()(run_commands.resume)
    app.command()(run_commands.fork)
    app.command()(run_commands.answer)
    app.command()(run_commands.cancel)
    app.command()(file_commands.validate)
    app.command(name="import")(file_commands.import_file)
    app.command()(file_commands.export)
    app.command(name="sign-in")(serve_commands.sign_in)
    app.command()(serve_commands.worker)
    app.command()(serve_commands.tidy)
    app.command()(serve_commands.doctor)
    models = typer.Typer(no_args_is_help=True, help="Model entries, and the embedded model's file.")
    models.command(name="list")(model_commands.list_models)
    models.command(name="add")(model_commands.add_model)
    models.command(name="pull")(model_commands.pull_model)
    app.add_typer(models, name="models")
    users = typer.Typer(no_args_is_help=True, help="Who may come in, and in which role.")
    users.command(name="list")(people_commands.list_users)
    users.command(name="add")(people_commands.add_user)
    users.command(name="role")(people_commands.change_role)
    users.command(name="remove")(people_commands.remove_user)
    app.add_typer(users, name="users")
    secrets = typer.Typer(no_args_is_help=True, help="The key that stored secrets are sealed with.")
    secrets.command(name="rotate")(secret_commands.rotate)
    app.add_typer(secrets, name="secrets")
    return app


def program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Take the options that come before a command."""


def run_program(hooks: Hooks) -> None:
    """Run the program on the words of the command line and leave with its exit code."""
    try:
        build()(obj=hooks)
    except FlybackError as error:
        print_error(error)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(CANCELLED)
