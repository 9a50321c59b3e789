"""The door of a command whose data folder a server holds: every call goes to that server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import urlencode

from pydantic import JsonValue

from flyback.cli.doors import AnswerRequest, ForkRequest, StartRequest, WireObject
from flyback.domain.errors import Fault, FlybackError, InvalidError, NotFoundError
from flyback.domain.json_value import dumps

if TYPE_CHECKING:  # loaded only where a server holds the folder
    import httpx

_PAGE = 200


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server that holds a data folder is reached, and with what. It stands in the folder, for its owner alone."""

    base_url: str
    key: str


class RemoteError(FlybackError):
    """What a server refused, with the code it gave."""

    code: ClassVar[str] = "REMOTE"

    def __init__(self, problem: Mapping[str, Any]) -> None:
        faults = [Fault(one["message"], one.get("node"), one.get("field"), one.get("fix")) for one in problem["errors"]]
        super().__init__(problem.get("detail") or problem["title"], faults=faults)
        self.remote_code = cast("str", problem["code"])


class RemoteDoor:
    def __init__(self, client: httpx.AsyncClient) -> None:
        """`client` knows the server's address and sends the key."""
        self._client = client

    @staticmethod
    def client(address: ServerAddress) -> httpx.AsyncClient:
        import httpx

        return httpx.AsyncClient(
            base_url=f"{address.base_url}/api",
            headers={"Authorization": f"Bearer {address.key}"},
            timeout=httpx.Timeout(60, read=90),
            trust_env=False,
        )

    async def start(self, request: StartRequest) -> str:
        body: dict[str, JsonValue] = {
            "workflow": dict(request.document),
            "inputs": dict(request.inputs),
            "queuedInputs": cast("JsonValue", {node: list(entries) for node, entries in request.queued_inputs.items()}),
        }
        if request.model is not None:
            body["model"] = request.model
        return (await self._call("POST", "/runs", body))["runId"]

    async def fork(self, run_id: str, request: ForkRequest) -> str:
        wishes: dict[str, JsonValue] = {
            "variables": dict(request.variables) or None,
            "next": request.next,
            "reason": request.reason or None,
            "plannerModelId": request.planner_model,
            "version": request.version,
        }
        body: JsonValue = {"visitId": request.visit_id, **wishes}
        return (await self._call("POST", f"/runs/{run_id}/fork", body))["runId"]

    async def find(self, run: str) -> str:
        newest = (await self._call("GET", f"/runs?{urlencode({'q': run, 'limit': _PAGE})}"))["items"]
        found = [one["runId"] for one in newest if one["runId"].startswith(run)]
        if not found:
            raise NotFoundError(f"There is no run {run!r}.", fix="See the newest ones with: flyback runs")
        if len(found) > 1:
            raise InvalidError(f"Several runs begin with {run!r}.", fix="Give more of the id.")
        return found[0]

    async def resume(self, run_id: str) -> None:
        """Nothing to do: a server drives its runs by itself."""

    async def answer(self, pause_id: str, answer: AnswerRequest) -> WireObject:
        body: dict[str, JsonValue] = {
            "answers": [{"questionId": name, "value": value} for name, value in answer.values.items()],
            "answer": answer.text,
            "action": answer.action,
        }
        return await self._call("POST", f"/pauses/{pause_id}/answer", body)

    async def cancel(self, run_id: str) -> WireObject:
        return await self._call("POST", f"/runs/{run_id}/cancel")

    async def detail(self, run_id: str) -> WireObject:
        return await self._call("GET", f"/runs/{run_id}")

    async def events(self, run_id: str, *, after: int = 0) -> AsyncIterator[WireObject]:
        seen = after
        while True:
            async for event in self._stream(run_id, seen):
                seen = event["seq"]
                yield event
                if event["type"] in _ENDS or (event["type"] == "run_paused" and await self._waits(run_id)):
                    return

    async def _waits(self, run_id: str) -> bool:
        """Whether the run still waits: a pause in its history may have been answered long ago."""
        return (await self.detail(run_id))["status"] == "PAUSED"

    async def _stream(self, run_id: str, after: int) -> AsyncIterator[WireObject]:
        """Yield durable events behind a position until the stream ends, for whatever reason."""
        import httpx

        try:
            async with self._client.stream("GET", f"/runs/{run_id}/events?after={after}") as response:
                await _refuse(response)
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        event = json.loads(line.removeprefix("data: "))
                        if "seq" in event:
                            yield event
        except httpx.TransportError:
            return

    async def _call(self, method: str, path: str, body: JsonValue = None) -> Any:
        content = dumps(body) if body is not None else None
        headers = {"Content-Type": "application/json"} if content is not None else None
        response = await self._client.request(method, path, content=content, headers=headers)
        await _refuse(response)
        return response.json()


_ENDS = frozenset({"workflow_complete", "workflow_error", "run_cancelled"})


async def _refuse(response: httpx.Response) -> None:
    if response.is_success:
        return
    await response.aread()
    raise RemoteError(response.json())
