"""Trying one node."""

from __future__ import annotations

from fastapi import Response

from flyback.api.deps import All, Caller
from flyback.api.json_body import JsonAnswer, router
from flyback.api.wire.runs import NodeTest, NodeTestGiven
from flyback.domain.run import WorkflowId

routes = router(prefix="/api", tag="runs")


@routes.post("/workflows/{workflow_id}/nodes/{node_id:path}/test", response_model=NodeTest)
async def test_node(
    workflow_id: WorkflowId, node_id: str, body: NodeTestGiven, caller: Caller, services: All
) -> Response:
    """Run one node on variables of one's own or on the workspace of a visit. Nothing of it enters the history."""
    tried = await services.node_tests.run(
        caller, workflow_id, node_id, variables=body.variables, run_id=body.run_id, visit_id=body.visit_id
    )
    return JsonAnswer(tried)
