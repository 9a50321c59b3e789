"""The real product behind its HTTP door, in one process: database in a folder, services, app. Only the models are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from fastapi import FastAPI

from flyback.api.access import Access
from flyback.api.app import create_app
from flyback.dispatch.local import LocalDispatcher
from flyback.domain.model_entry import BUILT_IN
from flyback.domain.redaction import Redactor
from flyback.engine.parts import Engine
from flyback.engine.ports import Clock
from flyback.main.wiring import services_of
from flyback.providers.agents.builtin import BuiltinRuntime
from flyback.providers.catalog import Catalog
from flyback.providers.chat.http_model import ChatConnections
from flyback.providers.egress.addresses import AllowList
from flyback.providers.egress.egress import HttpEgress
from flyback.providers.mcp.servers import McpServer
from flyback.providers.mcp.tools import McpTools
from flyback.providers.scripted import MemoryJournal, ScriptedModel
from flyback.providers.skill_folders import SkillFolders
from flyback.providers.skill_versions import SkillVersions
from flyback.providers.system import RandomIds, SystemClock, SystemDice
from flyback.services.acceptance import QUEUE_LIMIT
from flyback.services.actor import Actor
from flyback.services.called_workflows import StoredWorkflows
from flyback.services.container import Services
from flyback.services.embedded_model import EmbeddedFile
from flyback.services.mcp_credentials import CredentialBox
from flyback.services.mcp_entries import StoredServers
from flyback.services.mcp_servers import McpServers
from flyback.services.model_entries import StoredEntries
from flyback.services.operations import Operations
from flyback.services.skills import Skills
from flyback.storage.database import Database
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger, SubRunLedger
from flyback.storage.secret_box import SecretBox
from kit.databases import new_url

PORT = 8321
ADDRESS = f"http://127.0.0.1:{PORT}"
ORIGIN = ADDRESS


@dataclass(frozen=True, slots=True)
class Door:
    app: FastAPI
    services: Services
    database: Database
    owner: Actor
    key: httpx.AsyncClient
    """Calls with an API key."""
    page: httpx.AsyncClient
    """Calls as the page does: cookie, CSRF token, origin."""
    stranger: httpx.AsyncClient
    """Calls as nobody."""
    journal: MemoryJournal


@asynccontextmanager
async def open_door(
    folder: Path,
    *,
    kind: str = "sqlite",
    clock: Clock | None = None,
    page: Path | None = None,
    operators: Sequence[McpServer] = (),
    allowed: str = "",
    url: str | None = None,
    queue_limit: int = QUEUE_LIMIT,
) -> AsyncGenerator[Door]:
    """Open the product on a fresh database of this kind, or on the one at `url`, as a process that starts again does.

    `allowed` are addresses that may be called although local.
    """
    database = await Database.open(url or await asyncio.to_thread(new_url, kind, folder))
    journal = MemoryJournal()
    services, dispatcher, close_outside = _services(
        folder, database, journal, clock or SystemClock(), operators, allowed, queue_limit
    )
    app = create_app(services, access=Access.at(PORT), page=page or folder / "no-page")
    owner = await services.auth.first_user()
    made = await services.auth.make_key(owner, name="tests")
    secret = await services.auth.make_link(owner)
    async with (
        client_of(app, {"Authorization": f"Bearer {made.key}"}) as key,
        client_of(app, {"Origin": ORIGIN}) as browser,
        client_of(app, {}) as stranger,
    ):
        signed_in = await browser.post("/api/auth/sign-in", json={"secret": secret})
        browser.headers["X-CSRF-Token"] = signed_in.json()["csrfToken"]
        try:
            yield Door(app, services, database, owner, key, browser, stranger, journal)
        finally:
            await dispatcher.stop(grace_seconds=0)
            await services.embedded.close()
            await close_outside()
            await database.close()


def client_of(app: FastAPI, headers: dict[str, str]) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False, client=("127.0.0.1", 5555))
    return httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers=headers)


def _services(
    folder: Path,
    database: Database,
    journal: MemoryJournal,
    clock: Clock,
    operators: Sequence[McpServer],
    allowed: str,
    queue_limit: int,
) -> tuple[Services, LocalDispatcher, Callable[[], Awaitable[None]]]:
    ids, redactor = RandomIds(), Redactor()
    hub = Hub(redactor)
    box = SecretBox.open(folder)
    ledger = Ledger(database, hub, clock=clock, worker_id="tests", redactor=redactor)
    entries = StoredEntries(database, box, redactor)
    catalog = Catalog(
        entries,
        built_in={name: ScriptedModel(clock=clock, journal=journal, name=name) for name in BUILT_IN},
        connections=ChatConnections(clock=clock, redactor=redactor),
        clock=clock,
        journal=journal,
    )
    versions = SkillVersions(folder / "skill-versions")
    skills = Skills(SkillFolders(folder / "skills"), versions, database, clock=clock)
    egress = HttpEgress(AllowList.read(allowed), clock=clock)
    operator_egress = HttpEgress(AllowList.read("127.0.0.1"), clock=clock)
    credentials = CredentialBox(box, redactor)
    tools = McpTools(
        StoredServers(database, operators, credentials),
        egress=egress,
        operator_egress=operator_egress,
        clock=clock,
        log_folder=folder,
    )
    engine = Engine(
        clock=clock,
        ids=ids,
        dice=SystemDice(),
        log=ledger,
        models=catalog,
        skills=skills,
        live=hub,
        agents={"builtin": BuiltinRuntime()},
        egress=egress,
        tools=tools,
        sub_runs=SubRunLedger(ledger),
        workflows=StoredWorkflows(database),
    )
    dispatcher = LocalDispatcher(engine, ledger)
    services = services_of(
        engine,
        ledger,
        hub,
        dispatcher,
        catalog=catalog,
        box=box,
        entries=entries,
        skills=skills,
        mcp_servers=McpServers(database, tools, operators=operators, credentials=credentials, clock=clock, ids=ids),
        embedded=EmbeddedFile(folder / "model.gguf", folder),
        embedded_is_ready=lambda: False,
        operations=Operations(database),
        queue_limit=queue_limit,
    )

    async def close_outside() -> None:
        await egress.close()
        await operator_egress.close()

    return services, dispatcher, close_outside
