"""Questions of a run in the terminal: asked where somebody can answer, else shown with the way to answer them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from rich.console import Console
from rich.markup import escape
from rich.prompt import Prompt

from flyback.cli.doors import AnswerRequest, WireObject
from flyback.cli.plain import visible
from flyback.domain.errors import InvalidError, SeveralPausesError
from flyback.domain.pause import APPROVE, DENY


def open_questions(detail: WireObject) -> list[WireObject]:
    return [pause for pause in detail["pauses"] if pause["status"] == "OPEN"]


def pick(pauses: Sequence[WireObject], wanted: str | None) -> WireObject:
    """Return the question that is meant: by its id, by its node, or the only one.

    Raises:
        SeveralPausesError: several are.
        InvalidError: none is.
    """
    found = [one for one in pauses if wanted is None or one["pauseId"].startswith(wanted) or one["nodeId"] == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        nodes = ", ".join(f"{one['pauseId']} ({one['nodeId']})" for one in found)
        raise SeveralPausesError(f"{len(found)} questions wait: {nodes}.", fix="Say which: --pause <id or node>")
    raise InvalidError("No such question waits for an answer.", fix="See what the run waits for: flyback show RUN")


def ask(pause: WireObject) -> AnswerRequest:
    """Ask the person at the terminal."""
    console = Console(stderr=True, highlight=False)
    _show(console, pause)
    if pause["kind"] == "approval":
        return _ask_approval(console, pause)
    values: dict[str, JsonValue] = {question["id"]: _ask_one(console, question) for question in pause["questions"]}
    return AnswerRequest({name: value for name, value in values.items() if value is not None}, action=_action(pause))


def show_waiting(detail: WireObject) -> None:
    """Print what a run waits for and how to answer it, on stderr."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for pause in open_questions(detail):
        _show(console, pause)
        console.print(f"  Answer it with: {command_for(detail['runId'], pause)}", markup=False)


def command_for(run_id: str, pause: WireObject) -> str:
    """Return the command that answers a question."""
    questions: Sequence[Mapping[str, Any]] = pause["questions"]
    words = ["flyback answer", run_id, "--pause", pause["pauseId"]]
    if pause["kind"] == "approval":
        words.append('[--answer "a note"]')
    elif len(questions) == 1:
        words.append('--answer "…"')
    else:
        words += [f'-i {question["id"]}="…"' for question in questions]
    if pause["actions"]:
        words.append(f"--action {'|'.join(action['id'] for action in pause['actions'])}")
    return " ".join(words)


def can_ask() -> bool:
    """Whether somebody sits at the terminal."""
    return sys.stdin.isatty()


def _show(console: Console, pause: WireObject) -> None:
    console.print(f"\n[bold]{escape(visible(pause['nodeId']))}[/bold] asks:")
    if pause["prompt"]:
        console.print(visible(pause["prompt"]), markup=False)
    for question in pause["questions"]:
        if "tool" in question:
            _show_call(console, question)
            continue
        console.print(f"  {question['id']}: {visible(question['text'])}", markup=False)
        for place, choice in enumerate(question.get("choices", ()), 1):
            console.print(f"    {place}. {visible(choice)}", markup=False)


def _show_call(console: Console, question: Mapping[str, Any]) -> None:
    """Show a tool call exactly as it will be made."""
    console.print(f"  {visible(question['text'])}", markup=False)
    given = json.dumps(question["arguments"], ensure_ascii=False, indent=2)
    for line in given.split("\n"):
        console.print(f"    {visible(line)}", markup=False, soft_wrap=True)


def _ask_approval(console: Console, pause: WireObject) -> AnswerRequest:
    said = Prompt.ask("Approve", console=console, choices=[APPROVE, DENY])
    note = Prompt.ask("What do you say to it?", console=console, default="") if said == DENY else ""
    return AnswerRequest({question["id"]: note for question in pause["questions"]} if note else {}, action=said)


def _ask_one(console: Console, question: Mapping[str, Any]) -> JsonValue:
    schema: Mapping[str, Any] = question.get("schema") or {}
    usual = schema.get("default")
    said = Prompt.ask(escape(visible(question["text"])), console=console, default="" if usual is None else str(usual))
    if not said:
        return None
    choices: Sequence[str] = question.get("choices", ())
    if not question.get("multi"):
        return _chosen(said, choices)
    return [_chosen(part.strip(), choices) for part in said.split(",") if part.strip()]


def _chosen(said: str, choices: Sequence[str]) -> str:
    """A number stands for the choice at its place."""
    return choices[int(said) - 1] if said.isdecimal() and 0 < int(said) <= len(choices) else said


def _action(pause: WireObject) -> str | None:
    ids = [action["id"] for action in pause["actions"]]
    if len(ids) < 2:
        return ids[0] if ids else None
    labels = ", ".join(f"{action['id']} ({action['label']})" for action in pause["actions"])
    return Prompt.ask(escape(f"What next: {labels}"), console=Console(stderr=True), choices=ids)
