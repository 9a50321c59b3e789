"""The tools, HTTP calls and programs of a node at work: each on record, and where a person is asked, only with what was approved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from pydantic import JsonValue

from flyback.domain.pause import CallAsked, qualified_name
from flyback.engine import web_record
from flyback.engine.approval import Approval, PersonNeededError, Terms, ask_for
from flyback.engine.calls import CallPlace
from flyback.engine.ports import CodeResult, Sandbox, ToolAnswer, WebAnswer, WebRequest
from flyback.engine.resuming import Resumed
from flyback.engine.run_at_work import RunAtWork

T = TypeVar("T")

_HTTP = "http"
_CODE = "code"
"""The names on record of what nodes do themselves."""


class CallingNode:
    """One attempt at a node, as far as it calls."""

    def __init__(self, run: RunAtWork, calls: CallPlace, resumed: Resumed | None) -> None:
        self.resumed: Resumed | None = resumed
        self._run = run
        self._state = run.state
        self._engine = run.engine
        self._calls = calls
        self._terms = Terms()

    @property
    def chinese(self) -> bool:
        return self._run.chinese

    @property
    def sandbox(self) -> Sandbox:
        return self._engine.sandbox

    def ask_before(self, terms: Terms) -> None:
        self._terms = terms

    async def use_own_tool(
        self, name: str, arguments: Mapping[str, JsonValue], work: Callable[[], Awaitable[str]]
    ) -> str:
        async def use(_key: str) -> str:
            return await work()

        asked = CallAsked.of(name, None, arguments) if self._terms.asks_before(name) else None
        return await self._use(name, dict(arguments), use, _text, asked)

    async def use_tool(self, server: str, tool: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        owner_id, tools = self._state.owner_id, self._engine.tools

        async def use(key: str) -> ToolAnswer:
            return await tools.call(server, tool, arguments, owner_id=owner_id, key=key)

        asks = self._terms.asks_before(tool, server) or await tools.asks_before(server, tool, owner_id=owner_id)
        asked = CallAsked.of(tool, server, arguments) if asks else None
        return await self._use(qualified_name(server, tool), dict(arguments), use, _answer, asked)

    async def fetch(self, request: WebRequest) -> WebAnswer:
        async def use(key: str) -> WebAnswer:
            return await self._engine.egress.fetch(web_record.with_key(request, key))

        asked = web_record.asked(_HTTP, request) if self._terms.asks_before(_HTTP) else None
        return await self._use(_HTTP, web_record.of_request(request), use, web_record.of_answer, asked)

    async def run_code(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:
        async def run(_key: str = "") -> CodeResult:
            return await self.sandbox.run(source, inputs, outputs)

        if not self._terms.asks_before(_CODE):
            return await run()
        shown: dict[str, JsonValue] = {"source": source, "inputs": dict(inputs)}
        return await self._use(_CODE, shown, run, _ran, CallAsked.of(_CODE, None, shown, kind="code"))

    async def _use(
        self,
        name: str,
        record: JsonValue,
        work: Callable[[str], Awaitable[T]],
        shown: Callable[[T], JsonValue],
        asked: CallAsked | None,
    ) -> T:
        """Make a call. `record` goes on record of what it is given, `shown` of what it gives; `asked` is what a person
        is asked before it, None where nobody is.

        Raises:
            PersonNeededError: nobody has said yet whether this very call may be made.
            ToolDeniedError: it may not; that is on record.
        """
        approval = None if asked is None else self._approval(asked)

        async def use(key: str) -> T:
            if approval is not None:
                approval.refuse()
            return await work(key)

        return await self._calls.use(name, record, use, shown)

    def _approval(self, call: CallAsked) -> Approval:
        """Return what a person said of the next call here. Raises PersonNeededError where nobody did."""
        approval = None if self.resumed is None else self.resumed.approval
        call_id = self._calls.next_tool_call
        if approval is None or not approval.settles(call_id, call):
            raise PersonNeededError(ask_for(call_id, call, self._terms, chinese=self.chinese))
        return approval


def _text(text: str) -> JsonValue:
    return {"text": text}


def _ran(ran: CodeResult) -> JsonValue:
    return {"values": dict(ran.values), "printed": ran.printed}


def _answer(answer: ToolAnswer) -> JsonValue:
    return {"text": answer.text} if answer.json is None else {"text": answer.text, "json": answer.json}
