"""Commands that serve, let somebody in, and look after an installation."""

from __future__ import annotations

from typing import Annotated

import typer

from flyback.cli.command import DEFAULT_DATA, RUN_FAILED, SUCCESS, DatabaseOption, DataOption, folder, hooks_of, on_data
from flyback.cli.doors import DataDoor
from flyback.cli.hooks import ServeOptions, TidyOptions, WorkOptions
from flyback.domain.errors import InvalidError
from flyback.services.actor import Right

_MARKS = {"ok": "✓", "note": "·", "fault": "✗"}


def serve(
    context: typer.Context,
    data: DataOption = DEFAULT_DATA,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="FLYBACK_PORT", help="0 takes a free one.", min=0, max=65535)] = 8321,
    database_url: Annotated[str | None, DatabaseOption] = None,
    worker: Annotated[bool, typer.Option("--worker/--no-worker", help="Whether this process runs workflows.")] = True,
    embedded_model: Annotated[
        str, typer.Option(envvar="FLYBACK_EMBEDDED_MODEL", help="default, small, or the path of a GGUF file.")
    ] = "default",
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    fetch_model: Annotated[
        bool, typer.Option("--fetch-model", help="Fetch the embedded model in the background if it is not here.")
    ] = False,
    public_url: Annotated[
        str | None,
        typer.Option(
            envvar="FLYBACK_PUBLIC_URL", help="By which people reach it through a proxy: https://flows.example.org"
        ),
    ] = None,
) -> None:
    """Serve page, API and worker in one process. Prints the sign-in link."""
    options = ServeOptions(
        folder(data), host, port, database_url, worker, embedded_model, open_browser, fetch_model, public_url
    )
    hooks_of(context).serve(options)


def worker(
    context: typer.Context,
    database_url: Annotated[str, DatabaseOption],
    data: DataOption = DEFAULT_DATA,
    embedded_model: Annotated[str, typer.Option(envvar="FLYBACK_EMBEDDED_MODEL")] = "default",
    port: Annotated[
        int | None,
        typer.Option(
            envvar="FLYBACK_WORKER_PORT", help="Answer /healthz, /readyz and /metrics here.", min=0, max=65535
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where that port can be reached: 0.0.0.0 from other machines.")
    ] = "127.0.0.1",
) -> None:
    """Run one more worker process on the shared PostgreSQL."""
    hooks_of(context).work(WorkOptions(folder(data), database_url, embedded_model, host, port))


def sign_in(
    context: typer.Context,
    api_key: Annotated[str | None, typer.Option(help="Make an API key of this name instead.")] = None,
    scope: Annotated[Right | None, typer.Option(help="What the API key is for; without it, everything.")] = None,
    user: Annotated[str | None, typer.Option(help="Make the link for this user.")] = None,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Print another sign-in link, or a new API key, for the data folder's first user."""
    if user is not None and api_key is not None:
        raise InvalidError(
            "An API key is made for the first user only.", field="user", fix="They make theirs on the page."
        )

    async def go(door: DataDoor) -> str:
        return await (door.new_api_key(api_key, scope) if api_key else door.sign_in_link(user))

    print(on_data(context, data, go))


def tidy(
    context: typer.Context,
    older_than: Annotated[
        int | None, typer.Option(help="Delete runs that ended so many days ago, or more.", min=1)
    ] = None,
    keep: Annotated[int | None, typer.Option(help="Keep the newest so many runs in any case.", min=0)] = None,
    vacuum: Annotated[
        bool, typer.Option("--vacuum", help="Give the room back to the disk: nobody writes meanwhile.")
    ] = False,
    data: DataOption = DEFAULT_DATA,
    database_url: Annotated[str | None, DatabaseOption] = None,
) -> None:
    """Delete runs that ended long ago, and what nothing needs any more. Without limits no run is deleted.

    With both limits a run goes only when it is old and not among the newest. Runs of the last day stay.
    """
    done = hooks_of(context).tidy(folder(data), database_url, TidyOptions(older_than, keep, vacuum))
    print(f"Deleted {done.runs} runs and {done.large_values} large values that nothing needs any more.")


def doctor(
    context: typer.Context,
    data: DataOption = DEFAULT_DATA,
    database_url: Annotated[str | None, DatabaseOption] = None,
) -> None:
    """Say what is set up, what is missing and how to fix it."""
    findings = hooks_of(context).diagnose(folder(data), database_url)
    for finding in findings:
        print(f"{_MARKS[finding.level]} {finding.what}")
        if finding.fix:
            print(f"  → {finding.fix}")
    raise typer.Exit(RUN_FAILED if any(finding.level == "fault" for finding in findings) else SUCCESS)
