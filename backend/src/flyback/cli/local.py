"""The door of a command that works in the data folder itself: it drives what it starts, in its own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import cast

from pydantic import JsonValue

from flyback.cli.doors import AnswerRequest, ForkRequest, StartRequest, WireObject
from flyback.domain.answering import Given
from flyback.domain.errors import InvalidError, NotFoundError
from flyback.domain.events import EventType, LiveText, StoredEvent
from flyback.domain.graph_file import read_document
from flyback.domain.json_value import loads
from flyback.domain.run import RunId
from flyback.domain.wire import Wire
from flyback.services.actor import Actor, Right, Role
from flyback.services.container import Services
from flyback.services.forks import ForkWish
from flyback.services.model_draft import ModelDraft
from flyback.services.models import ModelView
from flyback.services.run_views import ALL_EVENTS
from flyback.services.runs import RunWish
from flyback.storage.auth import UserRow
from flyback.storage.run_reads import RunFilter

_PAGE = 200


class LocalDoor:
    def __init__(self, services: Services, actor: Actor, *, base_url: str) -> None:
        """`base_url` is where the folder's server is reached, or would be by default: what a link is made for."""
        self._services = services
        self._actor = actor
        self._base_url = base_url

    async def start(self, request: StartRequest) -> str:
        document = read_document(dict(request.document))
        wish = RunWish(
            inputs=request.inputs,
            queued_inputs=cast("JsonValue", {node: list(entries) for node, entries in request.queued_inputs.items()}),
            model=request.model,
        )
        return (await self._services.runs.start_unsaved(self._actor, document, wish)).run_id

    async def fork(self, run_id: str, request: ForkRequest) -> str:
        wish = ForkWish(
            visit_id=request.visit_id,
            variables=request.variables,
            next=request.next,
            reason=request.reason,
            planner_model=request.planner_model,
            version=request.version,
        )
        return (await self._services.forks.fork(self._actor, run_id, wish)).run_id

    async def find(self, run: str) -> str:
        return await self._services.run_views.find(self._actor, run)

    async def resume(self, run_id: str) -> None:
        await self._services.runs.resume(self._actor, run_id)

    async def answer(self, pause_id: str, answer: AnswerRequest) -> WireObject:
        given = Given(list(answer.values.items()), answer.text, answer.action)
        return await self._services.runs.answer(self._actor, pause_id, given)

    async def cancel(self, run_id: str) -> WireObject:
        status = await self._services.runs.cancel(self._actor, run_id)
        return {"runId": run_id, "status": status.value}

    async def detail(self, run_id: str) -> WireObject:
        return await self._services.run_views.detail(self._actor, run_id)

    async def list_runs(self, *, limit: int, status: str | None = None) -> Sequence[WireObject]:
        wanted = RunFilter(status=(status.upper(),) if status is not None else ())
        return (await self._services.run_views.list_runs(self._actor, wanted, cursor=None, limit=limit)).items

    async def events(self, run_id: str, *, after: int = 0) -> AsyncIterator[WireObject]:
        async with aclosing(self._services.streams.follow(RunId(run_id), after=after)) as stream:
            async for batch in stream:
                if isinstance(batch, LiveText):
                    continue
                for event in batch:
                    yield _on_wire(event)
                if batch and batch[-1].type is EventType.RUN_PAUSED:
                    return

    async def stored_events(self, run_id: str) -> Sequence[WireObject]:
        return await self._services.run_views.events(self._actor, run_id, after=0, limit=ALL_EVENTS)

    async def import_workflow(self, document: Mapping[str, JsonValue]) -> WireObject:
        return (await self._services.workflows.create(self._actor, read_document(dict(document)))).on_wire()

    async def export_workflow(self, workflow: str) -> WireObject:
        return (await self._services.workflows.get(self._actor, await self._workflow_id(workflow))).document.on_wire()

    async def list_models(self) -> Sequence[ModelView]:
        return await self._services.models.all(self._actor)

    async def add_model(self, draft: ModelDraft) -> ModelView:
        return await self._services.models.create(self._actor, draft)

    async def sign_in_link(self, user: str | None = None) -> str:
        if user is None:
            return self._link(await self._services.auth.make_link(self._actor))
        invited = await self._services.people.invite(self._actor, (await self._user(user)).id)
        return self._link(invited.secret)

    async def new_api_key(self, name: str, scope: Right | None = None) -> str:
        return (await self._services.auth.make_key(self._actor, name=name, scope=scope)).key

    async def list_users(self) -> Sequence[UserRow]:
        return await self._services.people.all(self._actor)

    async def add_user(self, name: str, role: Role) -> str:
        return self._link((await self._services.people.add(self._actor, name=name, role=role)).secret)

    async def change_role(self, name: str, role: Role) -> None:
        await self._services.people.change_role(self._actor, (await self._user(name)).id, role)

    async def remove_user(self, name: str) -> None:
        await self._services.people.remove(self._actor, (await self._user(name)).id)

    async def _user(self, name: str) -> UserRow:
        for user in await self.list_users():
            if name in (user.name, user.id):
                return user
        raise NotFoundError(f"Nobody is called {name!r}.", fix="`flyback users list` says who is there.")

    def _link(self, secret: str) -> str:
        return f"{self._base_url}/sign-in#secret={secret}"

    async def _workflow_id(self, workflow: str) -> str:
        """Return the id of a workflow that is named by its id or, where only one has it, by its name."""
        page = await self._services.workflows.page(self._actor, text=None, mode=None, cursor=None, limit=_PAGE)
        return pick_workflow(workflow, [(one.row.id, one.row.name) for one in page.items])


def pick_workflow(wanted: str, known: Sequence[tuple[str, str]]) -> str:
    """Return the id that an id or a name means. Raises NotFoundError, or InvalidError where a name stands for several."""
    if any(workflow_id == wanted for workflow_id, _ in known):
        return wanted
    named = [workflow_id for workflow_id, name in known if name == wanted]
    if not named:
        raise NotFoundError(f"There is no workflow {wanted!r}.", fix="Give its id or its exact name.")
    if len(named) > 1:
        raise InvalidError(f"{len(named)} workflows are called {wanted!r}.", fix=f"Give one's id: {', '.join(named)}.")
    return named[0]


def _on_wire(event: StoredEvent) -> Wire:
    return {
        "runId": event.run_id,
        "type": event.type.value,
        "seq": event.seq,
        "timestamp": event.timestamp,
        "data": loads(event.data_json),
    }
