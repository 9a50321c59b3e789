"""The tools of MCP servers at the door: looked at, accepted, used by a workflow; and who may start a program."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flyback.providers.mcp.servers import HttpServer, McpServer
from kit import mcp_server as kit
from kit.door import Door, open_door


@pytest.fixture(scope="module")
def server() -> Generator[McpServer]:
    with kit.mcp_server() as port:
        yield McpServer("operator-kit", "kit", HttpServer(f"http://127.0.0.1:{port}/mcp"), of_operator=True)


def workflow(tool: str, arguments: dict[str, object]) -> dict[str, object]:
    data = {"server": "kit", "tool": tool, "arguments": arguments}
    nodes = [
        {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "a", "type": "integer"}]}},
        {"id": "call", "type": "tool", "data": data},
        {"id": "out", "type": "output", "data": {"outputType": "json", "template": "{{call.json}}"}},
    ]
    edges = [{"id": "1", "source": "ask", "target": "call"}, {"id": "2", "source": "call", "target": "out"}]
    return {"workflow": {"mode": "DAG", "graphData": {"nodes": nodes, "edges": edges}}, "inputs": {"a": 40}}


async def run(door: Door, tool: str, arguments: dict[str, object]) -> dict[str, Any]:
    answer = await door.key.post("/api/runs?wait=true", json=workflow(tool, arguments))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_given_a_server_of_the_operator_its_tools_are_seen_used_and_pinned(
    tmp_path: Path, server: McpServer
) -> None:
    async with open_door(tmp_path, operators=[server]) as door:
        tools = "/api/mcp-servers/operator-kit/tools"
        listed = (await door.key.get(tools)).json()
        add = next(tool for tool in listed["items"] if tool["name"] == "add")
        assert (add["qualifiedName"], add["accepted"], add["inputSchema"]["required"]) == ("kit__add", True, ["a", "b"])
        ran = await run(door, "add", {"a": "{{a}}", "b": 2})
        assert ran["outputs"] == [{"nodeId": "out", "result": {"sum": 42}}]
        calls = (await door.key.get(f"/api/runs/{ran['runId']}/nodes/call/calls")).json()["items"]
        assert [(call["kind"], call["role"], call["name"], call["request"]) for call in calls] == [
            ("tool", "node", "kit__add", {"a": 40, "b": 2})
        ]
        # when the server changes its mind
        await run(door, "change", {"changed": True})
        ran = await run(door, "add", {"a": 1, "b": 2})
        assert ran["status"] == "FAILED"
        assert "something else" in str(ran["errorMsg"])
        listed = (await door.page.get(tools)).json()
        assert {tool["name"] for tool in listed["items"] if not tool["accepted"]} == {"add", "later"}
        # and it is told what was accepted, for whoever has to say whether the change is fine
        before = {tool["name"]: tool["acceptedAs"] for tool in listed["items"] if not tool["accepted"]}
        assert before["later"] is None
        assert before["add"] == {"description": "Adds two numbers.", "inputSchema": add["inputSchema"]}
        # then a person looks, and accepts exactly that
        stale = await door.page.post(f"{tools}/accept", json={"hash": "stale"})
        assert (stale.status_code, stale.json()["errors"][0]["field"]) == (422, "hash")
        accepted = await door.page.post(f"{tools}/accept", json={"hash": listed["hash"]})
        assert all(tool["accepted"] for tool in accepted.json()["items"])
        assert (await run(door, "add", {"a": 1, "b": 2}))["status"] == "SUCCESS"


async def test_given_a_server_of_the_operator_nobody_takes_it_away_or_its_name(
    tmp_path: Path, server: McpServer
) -> None:
    async with open_door(tmp_path, operators=[server]) as door:
        (listed,) = (await door.key.get("/api/mcp-servers")).json()["items"]
        assert (listed["id"], listed["ofOperator"], listed["createdAt"]) == ("operator-kit", True, None)
        assert (await door.key.get("/api/mcp-servers/operator-kit")).json() == listed
        assert (await door.key.delete("/api/mcp-servers/operator-kit")).status_code == 422
        taken = await door.key.post("/api/mcp-servers", json={"name": "kit", "url": "https://tools.example/mcp"})
        assert (taken.status_code, taken.json()["errors"][0]["field"]) == (422, "name")


async def test_given_a_server_that_a_person_added_a_local_address_is_refused_and_nothing_starts(door: Door) -> None:
    made = await door.key.post("/api/mcp-servers", json={"name": "near", "url": "http://127.0.0.1:9/mcp"})
    tools = await door.key.get(f"/api/mcp-servers/{made.json()['id']}/tools")
    assert (tools.status_code, tools.json()["code"]) == (422, "EGRESS_REFUSED")
    assert "FLYBACK_EGRESS_ALLOW" in tools.json()["errors"][0]["fix"]
    for body in (
        {"name": "x", "command": "id"},
        {"name": "x", "url": "https://a.example", "command": "id"},
        {"name": "x", "url": "https://a.example", "args": ["id"]},
    ):
        assert (await door.key.post("/api/mcp-servers", json=body)).status_code == 422


async def _near(door: Door, server: McpServer, **more: object) -> dict[str, object]:
    """Add the running server as a person would, by its address."""
    assert isinstance(server.at, HttpServer)
    made = await door.key.post("/api/mcp-servers", json={"name": "kit", "url": server.at.url, **more})
    assert made.status_code == 201, made.text
    return made.json()


async def test_given_a_token_and_headers_they_go_with_each_call_and_are_never_read(
    tmp_path: Path, server: McpServer
) -> None:
    async with open_door(tmp_path, allowed="127.0.0.1") as door:
        made = await _near(door, server, token="t0ken-t0ken", headers={"X-Api-Key": "k3y-k3y-k3y"})
        assert (made["hasToken"], made["headerNames"]) == (True, ["X-Api-Key"])

        async def header(name: str) -> object:
            return (await run(door, "header", {"name": name}))["nodes"][1]["output"]["data"]["text"]

        # what the server says of them is stored without them: it has had them, and a run shows them to nobody
        assert await header("authorization") == "[secret]"
        assert await header("x-api-key") == "[secret]"
        one = f"/api/mcp-servers/{made['id']}"
        for path in ("/api/mcp-servers", one):
            assert "t0ken" not in (answer := (await door.key.get(path)).text)
            assert "k3y" not in answer
        # when one is taken away, the other stays
        changed = (await door.page.patch(one, json={"token": ""})).json()
        assert (changed["hasToken"], changed["headerNames"]) == (False, ["X-Api-Key"])
        assert (await header("authorization"), await header("x-api-key")) == ("nothing", "[secret]")
        # and another address is told neither
        moved = (await door.page.patch(one, json={"url": "https://elsewhere.example/mcp"})).json()
        assert (moved["hasToken"], moved["headerNames"]) == (False, [])
        stored = await door.database.read(lambda conn: list(conn.exec_driver_sql("SELECT id FROM secrets")))
        assert stored == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"headers": {"Host": "elsewhere"}}, "headers"),
        ({"headers": {"X-A": "1\r\nX-B: 2"}}, "headers"),
        ({"headers": {"X A": "1"}}, "headers"),
        ({"headers": {"x-a": "1", "X-A": "2"}}, "headers"),
        ({"headers": {"Authorization": "Basic x"}, "token": "t"}, "headers"),
        ({"token": "two\nlines"}, "token"),
        ({"headers": {f"X-{n}": "1" for n in range(21)}}, "headers"),
    ],
)
async def test_given_what_no_header_can_carry_nothing_is_stored(
    door: Door, given: dict[str, object], field: str
) -> None:
    body = {"name": "kit", "url": "https://tools.example/mcp"}
    refused = await door.key.post("/api/mcp-servers", json={**body, **given})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    assert (await door.key.get("/api/mcp-servers")).json()["total"] == 0


async def test_given_a_server_of_the_operator_a_person_adds_to_its_approval_and_changes_nothing_else(
    tmp_path: Path, server: McpServer
) -> None:
    async with open_door(tmp_path, operators=[replace(server, approval=["die"])]) as door:
        one = "/api/mcp-servers/operator-kit"
        changed = await door.page.patch(one, json={"approval": ["add"]})
        assert changed.json()["approval"] == ["die", "add"]
        tools = (await door.key.get(f"{one}/tools")).json()["items"]
        assert {tool["name"] for tool in tools if tool["approval"]} == {"die", "add"}
        assert (await door.page.patch(one, json={"approval": []})).json()["approval"] == ["die"]
        refused: list[dict[str, object]] = [{"token": "x"}, {"url": "https://a.example/mcp"}, {"headers": {}}]
        for body in refused:
            assert (await door.page.patch(one, json=body)).status_code == 422
        assert (await door.page.patch("/api/mcp-servers/none", json={"approval": []})).status_code == 404


async def test_given_no_such_server_or_a_stranger_there_are_no_tools(door: Door) -> None:
    for path in ("none", "operator-none"):
        assert (await door.key.get(f"/api/mcp-servers/{path}/tools")).status_code == 404
        accepted = await door.key.post(f"/api/mcp-servers/{path}/tools/accept", json={"hash": "x"})
        assert accepted.status_code == 404
    assert (await door.stranger.get("/api/mcp-servers/x/tools")).status_code == 401
