"""Follows one run in the terminal until it ends or waits for a person.

Ctrl-C cancels the run, here as in a server: who walks away from a run without ending it closes the terminal. A second
Ctrl-C leaves at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from rich.console import Console

from flyback.cli.command import CANCELLED, PAUSED, RUN_FAILED, SUCCESS, print_error
from flyback.cli.doors import RunDoor, WireObject
from flyback.cli.questions import ask, can_ask, open_questions, show_waiting
from flyback.cli.results import with_whole_outputs
from flyback.cli.route import RoutePrinter
from flyback.domain.errors import FlybackError

_EXIT_CODES = {"SUCCESS": SUCCESS, "PAUSED": PAUSED, "CANCELLED": CANCELLED}


async def follow(door: RunDoor, run_id: str, *, as_json: bool, after: int = 0) -> int:
    """Print a run's events as they come, ask what it asks where somebody can answer, and return the exit code."""
    printer = None if as_json else printer_for(await door.detail(run_id))
    while True:
        async for event in _events(door, run_id, after):
            after = event["seq"]
            if printer is None:
                print(json.dumps(event, ensure_ascii=False), flush=True)
            else:
                printer.show(await with_whole_outputs(door, event))
        detail = await door.detail(run_id)
        waiting = open_questions(detail)
        if detail["status"] != "PAUSED" or not waiting:
            return _EXIT_CODES.get(detail["status"], RUN_FAILED)
        if not can_ask():
            show_waiting(detail)
            return PAUSED
        await _answer(door, waiting[0])


async def _answer(door: RunDoor, pause: WireObject) -> None:
    """Ask until the answer fits, or until the question is settled otherwise."""
    while True:
        said = await asyncio.to_thread(ask, pause)
        try:
            await door.answer(pause["pauseId"], said)
        except FlybackError as error:
            print_error(error)
        waiting = open_questions(await door.detail(pause["runId"]))
        if pause["pauseId"] not in [one["pauseId"] for one in waiting]:
            return


async def _events(door: RunDoor, run_id: str, after: int) -> AsyncIterator[WireObject]:
    """Yield the run's events behind a position once each, to the end also when it is cancelled from the keyboard."""
    while True:
        try:
            async for event in door.events(run_id, after=after):
                after = event["seq"]
                yield event
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            await door.cancel(run_id)
        else:
            return


def printer_for(detail: WireObject) -> RoutePrinter:
    labels = {node["id"]: node.get("data", {}).get("label") or node["id"] for node in detail["graphData"]["nodes"]}
    return RoutePrinter(Console(highlight=False), labels)
