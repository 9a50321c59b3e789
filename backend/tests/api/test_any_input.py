"""No input breaks a call: what the description allows and what it does not, on every operation."""

# schemathesis leaves type arguments of its own classes open.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportMissingTypeArgument=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from flyback.api.openapi import describe
from kit.databases import BOTH
from kit.served import Served, serve

schema = schemathesis.openapi.from_dict(json.loads(describe()))

GRAPH: dict[str, Any] = {
    "nodes": [{"id": "ask", "type": "userInput", "data": {}}, {"id": "out", "type": "output", "data": {}}],
    "edges": [{"id": "e", "source": "ask", "target": "out"}],
}
SCRIPT = [{"for": {"role": "planner"}, "replies": [{"next": "out", "reason": "done"}], "repeatLast": True}]


@pytest.fixture(scope="module", params=BOTH)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with serve(tmp_path_factory.mktemp("any-input"), kind=request.param) as running:
        yield running


@pytest.fixture(scope="module")
def known(served: Served) -> Mapping[str, str]:
    """Ids of things that are there, by the name of their parameter."""
    headers = {"Authorization": f"Bearer {served.key}"}
    with httpx.Client(base_url=served.base_url, headers=headers, timeout=60) as client:
        document: dict[str, Any] = {"name": "Known", "mode": "AGENTIC", "graphData": GRAPH, "script": SCRIPT}
        workflow = client.post("/api/workflows", json=document).raise_for_status().json()
        url = f"/api/workflows/{workflow['id']}"
        client.post(f"{url}/versions").raise_for_status()
        client.patch(url, json={"description": "changed"}).raise_for_status()
        run = client.post(f"{url}/run?wait=true", json={}).raise_for_status().json()
    return {
        "workflow_id": workflow["id"],
        "run_id": run["runId"],
        "visit_id": run["visits"][-1]["visitId"],
        "node_id": "out",
        "revision": "1",
        "version": "1",
        "model_id": "scripted",
        "sample_id": "weather",
    }


@schema.parametrize()
@settings(
    max_examples=4,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_no_input_breaks_a_call(case: schemathesis.Case, served: Served, known: Mapping[str, str]) -> None:
    status = _call(case, served)
    if status == 404 and case.method != "DELETE" and case.path_parameters:
        # the same again on what is there
        case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
        _call(case, served)


def _call(case: schemathesis.Case, served: Served) -> int:
    headers = {"Authorization": f"Bearer {served.key}"}
    response = case.call(base_url=served.base_url, headers=headers, timeout=20)
    case.validate_response(
        response, checks=[not_a_server_error, status_code_conformance, response_schema_conformance], headers=headers
    )
    if response.status_code >= 400:
        problem = response.json()
        assert response.headers["content-type"] == ["application/problem+json"]
        assert problem["status"] == response.status_code
        assert problem["code"]
        assert isinstance(problem["errors"], list)
    return response.status_code
