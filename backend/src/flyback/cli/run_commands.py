"""Commands that start, go on with and stop runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flyback.cli.command import DEFAULT_DATA, PAUSED, DataOption, JsonOption, on_runs
from flyback.cli.doors import AnswerRequest, ForkRequest, RunDoor, StartRequest, WireObject
from flyback.cli.files import read_checked, read_json
from flyback.cli.follow import follow
from flyback.cli.inputs import ask_for_missing, read_edits, read_pairs, read_queued, read_version
from flyback.cli.questions import ask, can_ask, open_questions, pick, show_waiting
from flyback.cli.visits import pick_visit


def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A graph file, or - for standard input.")],
    inputs: Annotated[list[str] | None, typer.Option("-i", "--input", help="name=value")] = None,
    queued: Annotated[list[str] | None, typer.Option("-q", "--queue", help="node:name=value")] = None,
    model: Annotated[str | None, typer.Option(help="The default model of this run.")] = None,
    script: Annotated[Path | None, typer.Option(help="A script that the scripted model plays.")] = None,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Run a graph file and draw its route while it happens."""
    checked = read_checked(file)
    document = checked.document
    if script is not None:
        document = {**document, "script": read_json(script)}
        model = model or "scripted"
    given = read_pairs(inputs or [])
    if sys.stdin.isatty():
        ask_for_missing(Console(stderr=True), checked.graph, checked.starts, given)
    request = StartRequest(document, given, read_queued(queued or []), model)

    async def go(door: RunDoor) -> int:
        return await follow(door, await door.start(request), as_json=as_json)

    raise typer.Exit(on_runs(context, data, go))


def resume(context: typer.Context, run: str, as_json: JsonOption = False, data: DataOption = DEFAULT_DATA) -> None:
    """Drive a run that nobody drives, and draw its route from the start."""

    async def go(door: RunDoor) -> int:
        run_id = await door.find(run)
        await door.resume(run_id)
        return await follow(door, run_id, as_json=as_json)

    raise typer.Exit(on_runs(context, data, go))


def fork(
    context: typer.Context,
    run: str,
    visit: Annotated[
        str | None, typer.Option(help="The last visit that is shared: its number, label#iter, or its id.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("-i", "--input", help="name=text or name:=JSON: edits the workspace.")
    ] = None,
    next_node: Annotated[
        str | None, typer.Option("--next", help="The node to go on to; without it the planner is asked anew.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why, as the visit there is told.")] = "",
    planner: Annotated[str | None, typer.Option(help="Another planner model.")] = None,
    version: Annotated[
        str | None, typer.Option(help="A published version of the workflow, or latest, in place of the run's graph.")
    ] = None,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Run on from a visit of an AGENTIC run, otherwise than it went. What was visited before is not run again."""
    edits = read_edits(inputs or [])
    chosen = read_version(version)

    async def go(door: RunDoor) -> int:
        run_id = await door.find(run)
        visit_id = pick_visit(await door.detail(run_id), visit)
        request = ForkRequest(visit_id, edits, next_node, reason, planner, chosen)
        return await follow(door, await door.fork(run_id, request), as_json=as_json)

    raise typer.Exit(on_runs(context, data, go))


def answer(
    context: typer.Context,
    run: str,
    text: Annotated[str | None, typer.Option("--answer", help="The answer, where one question is asked.")] = None,
    inputs: Annotated[list[str] | None, typer.Option("-i", "--input", help="question=value")] = None,
    action: Annotated[str | None, typer.Option(help="The action that is taken; `cancel` cancels the run.")] = None,
    pause: Annotated[str | None, typer.Option(help="Which question: its id, or its node.")] = None,
    as_json: JsonOption = False,
    data: DataOption = DEFAULT_DATA,
) -> None:
    """Answer what a run asks, and draw its route from there on. Without an answer the terminal asks for it."""
    given = AnswerRequest(read_pairs(inputs or []), text, action)

    async def go(door: RunDoor) -> int:
        run_id = await door.find(run)
        detail = await door.detail(run_id)
        asked = pick(open_questions(detail), pause)
        said = given
        if given == AnswerRequest():
            if not can_ask():
                show_waiting(detail)
                return PAUSED
            said = ask(asked)
        seen = [event["seq"] async for event in door.events(run_id)] if detail["status"] == "PAUSED" else [0]
        await door.answer(asked["pauseId"], said)
        return await follow(door, run_id, as_json=as_json, after=seen[-1])

    raise typer.Exit(on_runs(context, data, go))


def cancel(context: typer.Context, run: str, data: DataOption = DEFAULT_DATA) -> None:
    """Cancel a run; a model call in flight is stopped."""

    async def go(door: RunDoor) -> WireObject:
        return await door.cancel(await door.find(run))

    answer = on_runs(context, data, go)
    print(f"{answer['runId']} {answer['status']}")
