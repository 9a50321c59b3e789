"""The saved workflows that nodes call: found by id, or by a name that only one has."""

from __future__ import annotations

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.errors import Fault, NotFoundError
from flyback.domain.run import VersionChoice, WorkflowId
from flyback.engine.check_calls import Callees, CallName, names_called
from flyback.engine.ports import FoundWorkflow
from flyback.engine.sub_runs import MAX_DEPTH
from flyback.storage import workflow_history, workflows
from flyback.storage.database import Database

_MOST_CALLED = 200
"""Looked up at each level."""


class StoredWorkflows:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, name: str, version: VersionChoice, *, owner_id: str) -> FoundWorkflow:
        return await self._database.read(lambda conn: find_called(conn, owner_id, name, version))


def callees_of(conn: Connection, owner_id: str, graph_data: JsonValue) -> Callees:
    """Return every saved workflow that a graph calls, and those that these call, as deep as runs may be."""
    found: dict[CallName, FoundWorkflow | Fault] = {}
    ahead = names_called(graph_data)
    for _ in range(MAX_DEPTH + 1):
        new = [name for name in sorted(ahead, key=str) if name not in found][:_MOST_CALLED]
        ahead = set[CallName]()
        for name, version in new:
            try:
                callee = find_called(conn, owner_id, name, version)
            except NotFoundError as error:
                found[name, version] = Fault(error.message, field=error.field, fix=error.fix)
                continue
            found[name, version] = callee
            ahead |= names_called(dict(callee.document.graph_data))
    return found


def find_called(conn: Connection, owner_id: str, name: str, version: VersionChoice) -> FoundWorkflow:
    """Return what a node calls. Raises NotFoundError, which says what there is."""
    workflow_id = name
    if workflows.find(conn, owner_id, name) is None:
        named = workflows.named(conn, owner_id, name)
        if len(named) != 1:
            what = f"There is no workflow {name[:100]!r}." if not named else f"Several workflows are called {name!r}."
            raise NotFoundError(what, field="workflowId", fix="Choose one by its id, from the list of workflows.")
        workflow_id = named[0]
    document, number = workflow_history.document_to_run(conn, owner_id, workflow_id, version)
    return FoundWorkflow(document, WorkflowId(workflow_id), number)
