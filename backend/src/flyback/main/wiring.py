"""Makes everything that a person can do out of the parts that it needs."""

from __future__ import annotations

from collections.abc import Callable

from flyback.dispatch import Dispatcher
from flyback.engine.parts import Engine
from flyback.providers.catalog import Catalog
from flyback.services.acceptance import Acceptance
from flyback.services.auth import Auth
from flyback.services.container import Services
from flyback.services.embedded_model import EmbeddedFile
from flyback.services.forks import Forks
from flyback.services.mcp_servers import McpServers
from flyback.services.model_entries import StoredEntries
from flyback.services.models import Models
from flyback.services.node_test import NodeTests
from flyback.services.operations import Operations
from flyback.services.people import People
from flyback.services.run_stream import RunStreams
from flyback.services.run_views import RunViews
from flyback.services.runs import Runs
from flyback.services.samples import Samples, packaged_samples
from flyback.services.settings import Settings
from flyback.services.skills import Skills
from flyback.services.workflow_files import WorkflowFiles
from flyback.services.workflow_history import WorkflowHistory
from flyback.services.workflows import Workflows
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger
from flyback.storage.secret_box import SecretBox


def services_of(
    engine: Engine,
    ledger: Ledger,
    hub: Hub,
    dispatcher: Dispatcher,
    *,
    catalog: Catalog,
    box: SecretBox,
    entries: StoredEntries,
    skills: Skills,
    mcp_servers: McpServers,
    embedded: EmbeddedFile,
    embedded_is_ready: Callable[[], bool],
    operations: Operations,
    queue_limit: int,
) -> Services:
    """`engine` writes `ledger`, and `dispatcher` gets runs driven by it."""
    clock, ids = engine.clock, engine.ids
    database, redactor = ledger.database, ledger.redactor
    views = RunViews(database)
    acceptance = Acceptance(database, ledger, dispatcher, clock=clock, queue_limit=queue_limit)
    runs = Runs(
        database, ledger, dispatcher, catalog, acceptance=acceptance, embedded_is_ready=embedded_is_ready, ids=ids
    )
    workflows = Workflows(database, clock=clock, ids=ids, runs=runs)
    auth = Auth(database, clock=clock, ids=ids)
    return Services(
        auth=auth,
        people=People(database, auth, clock=clock, ids=ids),
        settings=Settings(database, clock=clock),
        workflows=workflows,
        history=WorkflowHistory(database, clock=clock, workflows=workflows),
        files=WorkflowFiles(workflows, redactor=redactor, secrets=entries),
        samples=Samples(packaged_samples(), workflows=workflows),
        runs=runs,
        forks=Forks(database, catalog, acceptance=acceptance, ids=ids),
        run_views=views,
        streams=RunStreams(ledger, hub, views),
        node_tests=NodeTests(database, engine, redactor=redactor, embedded_is_ready=embedded_is_ready),
        models=Models(database, catalog=catalog, box=box, redactor=redactor, clock=clock, ids=ids),
        embedded=embedded,
        skills=skills,
        mcp_servers=mcp_servers,
        operations=operations,
    )
