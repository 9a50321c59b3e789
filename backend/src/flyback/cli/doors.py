"""How a command reaches the runs of a data folder: by driving them itself, or through the server that holds the folder.

Both ways give the same wire JSON, so that a command prints the same whichever way it went.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from flyback.services.actor import Right, Role
from flyback.services.model_draft import ModelDraft
from flyback.services.models import ModelView
from flyback.storage.auth import UserRow

WireObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StartRequest:
    """What `flyback run` asks for. `document` is the graph file as read."""

    document: Mapping[str, JsonValue]
    inputs: Mapping[str, JsonValue]
    queued_inputs: Mapping[str, Sequence[Mapping[str, JsonValue]]]
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """From which visit on, and what is to be different. What is empty is as in the run that is forked."""

    visit_id: str
    variables: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    next: str | None = None
    reason: str = ""
    planner_model: str | None = None
    version: int | Literal["latest"] | None = None


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """What a person says to a question: question to value, and the action that is taken."""

    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    text: str | None = None
    """In place of `values` where there is one question."""
    action: str | None = None


class RunDoor(Protocol):
    """Running: what needs to be the only driver of a data folder, or a server that is. Failures are `FlybackError`s."""

    async def start(self, request: StartRequest) -> str:
        """Accept a run of a graph that is not saved and return its id."""
        ...

    async def fork(self, run_id: str, request: ForkRequest) -> str:
        """Accept a fork of a run and return the new run's id."""
        ...

    async def find(self, run: str) -> str:
        """Return the whole id of the run that begins with `run`. Raises NotFoundError, InvalidError where several do."""
        ...

    async def resume(self, run_id: str) -> None:
        """Drive a run that nobody drives."""
        ...

    async def answer(self, pause_id: str, answer: AnswerRequest) -> WireObject:
        """Answer a question and return it as it is by then."""
        ...

    async def cancel(self, run_id: str) -> WireObject: ...

    async def detail(self, run_id: str) -> WireObject: ...

    def events(self, run_id: str, *, after: int = 0) -> AsyncIterator[WireObject]:
        """Follow a run from a position to its terminal event, or to a pause at which nothing moves."""
        ...


class DataDoor(RunDoor, Protocol):
    """Looking and keeping: what needs no lock, because it drives nothing."""

    async def list_runs(self, *, limit: int, status: str | None = None) -> Sequence[WireObject]: ...

    async def stored_events(self, run_id: str) -> Sequence[WireObject]:
        """Return the events that a run has so far."""
        ...

    async def import_workflow(self, document: Mapping[str, JsonValue]) -> WireObject: ...

    async def export_workflow(self, workflow: str) -> WireObject:
        """Return the graph file of a workflow, by id or by unique name."""
        ...

    async def list_models(self) -> Sequence[ModelView]: ...

    async def add_model(self, draft: ModelDraft) -> ModelView: ...

    async def sign_in_link(self, user: str | None = None) -> str:
        """Return a new one-time link, for the first user or for the one of this name."""
        ...

    async def new_api_key(self, name: str, scope: Right | None = None) -> str: ...

    async def list_users(self) -> Sequence[UserRow]: ...

    async def add_user(self, name: str, role: Role) -> str:
        """Add somebody, and return their sign-in link."""
        ...

    async def change_role(self, name: str, role: Role) -> None: ...

    async def remove_user(self, name: str) -> None: ...


class OpenRuns(Protocol):
    def __call__(self, data: Path) -> AbstractAsyncContextManager[RunDoor]:
        """Go through the server where one holds the folder, else hold the folder and drive here."""
        ...


class OpenData(Protocol):
    def __call__(self, data: Path) -> AbstractAsyncContextManager[DataDoor]:
        """Open the folder itself, without its lock."""
        ...
