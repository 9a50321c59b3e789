"""Puts a working product together over one data folder: store, engine, models, services. Who serves it comes on top."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from flyback.dispatch import Dispatcher
from flyback.dispatch.heart import standing_still_seconds
from flyback.domain.errors import SecretKeyMissingError
from flyback.domain.model_entry import EMBEDDED, SCRIPTED
from flyback.domain.redaction import Redactor
from flyback.engine.agents import BUILTIN, HERMES
from flyback.engine.parts import Engine
from flyback.engine.ports import AgentRuntime
from flyback.engine.watch import Watches
from flyback.main.operator import CONNECTIONS, LEASE_SECONDS, QUEUE_LIMIT
from flyback.main.outside import Outside
from flyback.main.wiring import services_of
from flyback.providers.agents.builtin import BuiltinRuntime
from flyback.providers.agents.hermes.install import HermesInstall
from flyback.providers.agents.hermes.runtime import HermesRuntime
from flyback.providers.catalog import Catalog
from flyback.providers.chat.http_model import ChatConnections, model_guard
from flyback.providers.embedded.host import EmbeddedHost
from flyback.providers.embedded.model import EmbeddedModel
from flyback.providers.embedded.model_file import checked_file
from flyback.providers.embedded.releases import FOLDER, choose_model
from flyback.providers.limits import CallLimits
from flyback.providers.mcp.tools import McpTools
from flyback.providers.scripted import FileJournal, ScriptedModel
from flyback.providers.skill_folders import SkillFolders
from flyback.providers.skill_versions import SkillVersions
from flyback.providers.system import RandomIds, SystemClock, SystemDice
from flyback.providers.telemetry.metrics import Metrics
from flyback.providers.telemetry.traces import Traces
from flyback.services.actor import Actor
from flyback.services.called_workflows import StoredWorkflows
from flyback.services.container import Services
from flyback.services.embedded_model import EmbeddedFile
from flyback.services.mcp_credentials import CredentialBox
from flyback.services.mcp_entries import StoredServers
from flyback.services.mcp_servers import McpServers
from flyback.services.model_entries import StoredEntries, check_key
from flyback.services.operations import Operations
from flyback.services.skills import Skills, packaged_skills
from flyback.services.tidying import Tidying
from flyback.storage.database import Database, Durability
from flyback.storage.event_poll import EventPoll
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger, SubRunLedger
from flyback.storage.relay import Relay
from flyback.storage.secret_box import KEY_VARIABLE, SecretBox

DATABASE_FILE = "flyback.sqlite"
JOURNAL_FILE = "scripted.jsonl"
SKILLS_FOLDER = "skills"
SKILL_VERSIONS_FOLDER = "skill-versions"
_HOST_LOG = "embedded-model.log"


@dataclass(frozen=True, slots=True)
class ProductOptions:
    data: Path
    database_url: str | None = None
    """None means SQLite in the data folder."""
    embedded_model: str = "default"
    durability: Durability = "full"


@dataclass(frozen=True, slots=True)
class Product:
    services: Services
    owner: Actor
    """The data folder's only user."""
    hub: Hub
    dispatcher: Dispatcher
    redactor: Redactor
    """Knows every secret that is in use."""
    tidying: Tidying
    journal: FileJournal


MakeDispatcher = Callable[[Engine, Ledger, Database], Dispatcher]


@asynccontextmanager
async def open_product(options: ProductOptions, make_dispatcher: MakeDispatcher) -> AsyncGenerator[Product]:
    """Open everything, start the dispatcher, and close it all in order. The data folder must be there."""
    clock, ids = SystemClock(), RandomIds()
    redactor = Redactor()
    outside = await asyncio.to_thread(Outside.open, os.environ, options.data, clock=clock, redactor=redactor)
    database = await Database.open(
        database_url(options),
        durability=options.durability,
        connections=CONNECTIONS.read(os.environ),
        standing_still_seconds=standing_still_seconds(LEASE_SECONDS.read(os.environ)),
    )
    metrics = Metrics()
    database.watch_commits(metrics.stored)
    traces = Traces.open(os.environ)
    hub = Hub(redactor)
    ledger = Ledger(database, hub, clock=clock, worker_id=ids.new(), redactor=redactor)
    try:
        box = SecretBox.open(options.data, key_text=os.environ.get(KEY_VARIABLE))
        await check_key(database, box)
    except SecretKeyMissingError:
        await database.close()
        raise
    journal = FileJournal(options.data / JOURNAL_FILE, redactor)
    connections = ChatConnections(clock=clock, redactor=redactor, guard=model_guard(outside.allowed))
    embedded = _embedded(options)
    host = EmbeddedHost(_finder(options), log_file=options.data / _HOST_LOG)
    entries = StoredEntries(database, box, redactor)
    catalog = Catalog(
        entries,
        built_in={
            EMBEDDED: EmbeddedModel(host, name=EMBEDDED, model=embedded.state().name, clock=clock, limits=CallLimits()),
            SCRIPTED: ScriptedModel(clock=clock, journal=journal),
        },
        connections=connections,
        clock=clock,
        journal=journal,
    )
    folders = SkillFolders(options.data / SKILLS_FOLDER, built_in=[packaged_skills()])
    versions = SkillVersions(options.data / SKILL_VERSIONS_FOLDER)
    skills = Skills(folders, versions, database, clock=clock, runs_scripts=outside.runs_skill_scripts)
    await skills.clear_up()
    credentials = CredentialBox(box, redactor)
    mcp_tools = McpTools(
        StoredServers(database, outside.mcp_servers, credentials),
        egress=outside.egress,
        operator_egress=outside.operator_egress,
        clock=clock,
        log_folder=options.data,
    )
    engine = Engine(
        clock,
        ids,
        SystemDice(),
        ledger,
        catalog,
        skills,
        hub,
        egress=outside.egress,
        sandbox=outside.sandbox,
        tools=mcp_tools,
        sub_runs=SubRunLedger(ledger),
        workflows=StoredWorkflows(database),
        agents=_runtimes(outside.hermes),
        watch=Watches([metrics] if traces is None else [metrics, traces]),
    )
    dispatcher = make_dispatcher(engine, ledger, database)
    services = services_of(
        engine,
        ledger,
        hub,
        dispatcher,
        catalog=catalog,
        box=box,
        entries=entries,
        skills=skills,
        mcp_servers=McpServers(
            database, mcp_tools, operators=outside.mcp_servers, credentials=credentials, clock=clock, ids=ids
        ),
        embedded=embedded,
        embedded_is_ready=lambda: embedded.is_ready,
        operations=Operations(database, registry=metrics.registry, probes={"dispatcher": dispatcher.trouble}),
        queue_limit=QUEUE_LIMIT.read(os.environ),
    )
    poll = EventPoll(database, hub)
    relay = None if database.is_sqlite else Relay(database, hub, worker_id=ledger.worker_id)
    try:
        await dispatcher.start()
        poll.start()
        if relay is not None:
            relay.start()
        tidying = Tidying(database, clock=clock)
        yield Product(services, await services.auth.first_user(), hub, dispatcher, redactor, tidying, journal)
    finally:
        await dispatcher.stop()
        await poll.stop()
        if relay is not None:
            await relay.stop()
        hub.close()
        await embedded.close()
        await host.close()
        await connections.close()
        await outside.close()
        if traces is not None:
            await asyncio.to_thread(traces.close)
        await database.close()


def _runtimes(hermes: HermesInstall | None) -> Mapping[str, AgentRuntime]:
    builtin: Mapping[str, AgentRuntime] = {BUILTIN: BuiltinRuntime()}
    return builtin if hermes is None else {**builtin, HERMES: HermesRuntime(hermes)}


def database_url(options: ProductOptions) -> str:
    return options.database_url or f"sqlite:///{options.data / DATABASE_FILE}"


def _choice(options: ProductOptions) -> str | None:
    return None if options.embedded_model == "default" else options.embedded_model


def _embedded(options: ProductOptions) -> EmbeddedFile:
    return EmbeddedFile(choose_model(_choice(options)), options.data / FOLDER)


def _finder(options: ProductOptions) -> Callable[[], Path]:
    return lambda: checked_file(choose_model(_choice(options)), options.data / FOLDER)
