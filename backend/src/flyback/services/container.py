"""Everything a person can do, in one place: what both doors are given."""

from __future__ import annotations

from dataclasses import dataclass

from flyback.services.auth import Auth
from flyback.services.embedded_model import EmbeddedFile
from flyback.services.forks import Forks
from flyback.services.mcp_servers import McpServers
from flyback.services.models import Models
from flyback.services.node_test import NodeTests
from flyback.services.operations import Operations
from flyback.services.people import People
from flyback.services.run_stream import RunStreams
from flyback.services.run_views import RunViews
from flyback.services.runs import Runs
from flyback.services.samples import Samples
from flyback.services.settings import Settings
from flyback.services.skills import Skills
from flyback.services.workflow_files import WorkflowFiles
from flyback.services.workflow_history import WorkflowHistory
from flyback.services.workflows import Workflows


@dataclass(frozen=True, slots=True)
class Services:
    auth: Auth
    people: People
    settings: Settings
    workflows: Workflows
    history: WorkflowHistory
    files: WorkflowFiles
    samples: Samples
    runs: Runs
    forks: Forks
    run_views: RunViews
    streams: RunStreams
    node_tests: NodeTests
    models: Models
    embedded: EmbeddedFile
    skills: Skills
    mcp_servers: McpServers
    operations: Operations
