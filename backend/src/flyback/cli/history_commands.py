"""Commands that look at what has run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from flyback.cli.command import DEFAULT_DATA, DataOption, JsonOption, on_data, print_json
from flyback.cli.doors import DataDoor, WireObject
from flyback.cli.follow import printer_for
from flyback.cli.plain import cell
from flyback.cli.questions import show_waiting
from flyback.cli.results import with_whole_outputs

_LONGEST_WAIT_SECONDS = 2.0


def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    status: Annotated[str | None, typer.Option(help="Only runs of this status.")] = None,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """List the newest runs."""

    async def go(door: DataDoor) -> Sequence[WireObject]:
        return await door.list_runs(limit=limit, status=status)

    found = on_data(context, data, go)
    if as_json:
        print_json(found)
        return
    run = Column("run", no_wrap=True, min_width=36)  # whole on any terminal: it is what the other commands are given
    table = Table(run, "workflow", "mode", "status", "visits", "started (UTC)", box=None)
    for one in found:
        visits, started = str(one["visitCount"] or ""), (one["startedAt"] or "–")[:16].replace("T", " ")
        table.add_row(one["runId"], cell(one["workflowName"]), one["mode"], one["status"], visits, started)
    Console().print(table)


def show(context: typer.Context, run: str, as_json: JsonOption = False, data: DataOption = DEFAULT_DATA) -> None:
    """Show one run: its route so far, or everything about it as JSON."""

    async def go(door: DataDoor) -> None:
        run_id = await door.find(run)
        detail = await door.detail(run_id)
        if as_json:
            print_json(detail)
            return
        printer = printer_for(detail)
        for event in await door.stored_events(run_id):
            printer.show(await with_whole_outputs(door, event))
        show_waiting(detail)
        if detail["status"] in ("PENDING", "RUNNING"):
            print(f"{detail['status']}. If nobody drives it, go on with: flyback resume {run_id}")

    on_data(context, data, go)


def replay(
    context: typer.Context,
    run: str,
    speed: Annotated[float, typer.Option(min=0.01, help="2 plays twice as fast as it went.")] = 1.0,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Play a run's route again from its record, as fast as it went, waits cut to 2 s. No model is called."""

    async def go(door: DataDoor) -> None:
        run_id = await door.find(run)
        printer = None if as_json else printer_for(await door.detail(run_id))
        before: datetime | None = None
        for event in await door.stored_events(run_id):
            at = datetime.fromisoformat(event["timestamp"])
            waited = 0.0 if before is None else (at - before).total_seconds()
            await asyncio.sleep(min(max(waited, 0.0), _LONGEST_WAIT_SECONDS) / speed)
            before = at
            if printer is None:
                print(json.dumps(event, ensure_ascii=False), flush=True)
            else:
                printer.show(await with_whole_outputs(door, event))

    on_data(context, data, go)
