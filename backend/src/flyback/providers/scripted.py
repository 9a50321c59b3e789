"""The scripted model: answers from a script, for demos, tests and samples that run with no key.

It keeps no position of its own: the place in the script is the number of calls that the run has recorded for the node or
for the planner. Every call is written to a journal when it begins and again when it ends, so that a call that a kill
interrupted is on record too.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol, cast
from uuid import uuid4

from pydantic import JsonValue

from flyback.domain.errors import ConfigInvalidError, FlybackError, InvalidError, ScriptExhaustedError
from flyback.domain.model_entry import SCRIPTED, Prices
from flyback.domain.redaction import Redactor
from flyback.domain.script import Reply, Script, ScriptPart, read_script
from flyback.engine.estimate import estimate
from flyback.engine.ports import CLARIFY, CallSite, ChatReply, ChatRequest, Clock, Decider, Message, ToolCall
from flyback.providers.faults import fault_of_status, timed_out, unavailable
from flyback.providers.limits import CallLimits
from flyback.providers.price import priced

_log = logging.getLogger(__name__)

_LONGEST_JOURNAL_BYTES = 64_000_000

Gate = Callable[[CallSite], Awaitable[None]]
"""Where a call waits before it is answered: lets a test hold it."""


@dataclass(slots=True)
class ScriptedCall:
    """One call that the scripted model has seen."""

    key: str
    model: str
    run_id: str
    node_id: str
    visit_id: str | None
    role: str
    position: int
    prompt: Sequence[Message]
    ended: bool = False
    """False while it goes on, and for ever where the process died in it."""
    aborted: bool = False
    """Whether the caller gave it up."""
    error: str | None = None
    """The code with which it failed."""
    id: str = field(default_factory=lambda: uuid4().hex)
    """A crash repeats the key, so a call has an id besides."""


class CallJournal(Protocol):
    """Where the scripted model records its calls."""

    async def begin(self, call: ScriptedCall) -> None: ...
    async def end(self, call: ScriptedCall) -> None: ...


class MemoryJournal:
    """The calls in a list, for tests and the library."""

    def __init__(self) -> None:
        self.calls: list[ScriptedCall] = []

    async def begin(self, call: ScriptedCall) -> None:
        self.calls.append(call)

    async def end(self, call: ScriptedCall) -> None:
        """The call in the list is the same object: nothing is left to do."""


class FileJournal:
    """The calls as JSON lines: one when a call begins, one when it ends. Each is a single appending write, so that
    several processes may share the file and a kill loses nothing that was written. What `redactor` knows stands in none."""

    def __init__(self, path: Path, redactor: Redactor | None = None) -> None:
        self._path = path
        self._redactor = redactor or Redactor()

    async def begin(self, call: ScriptedCall) -> None:
        await asyncio.to_thread(self._append, {"at": "begin", **_head(call), **_prompt(call)})

    async def end(self, call: ScriptedCall) -> None:
        outcome: dict[str, JsonValue] = {"aborted": call.aborted, "error": call.error}
        await asyncio.to_thread(self._append, {"at": "end", **_head(call), **outcome})

    def rotate(self, *, longest_bytes: int = _LONGEST_JOURNAL_BYTES) -> None:
        """Begin anew where the file is longer than that; what was written before stays in one older file beside it."""
        if self._path.exists() and self._path.stat().st_size > longest_bytes:
            self._path.replace(self._path.with_name(f"{self._path.stem}.old{self._path.suffix}"))

    def _append(self, record: dict[str, JsonValue]) -> None:
        line = self._redactor.text(json.dumps(record)).encode("ascii") + b"\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def _head(call: ScriptedCall) -> dict[str, JsonValue]:
    return {
        "id": call.id,
        "key": call.key,
        "model": call.model,
        "runId": call.run_id,
        "nodeId": call.node_id,
        "visitId": call.visit_id,
        "role": call.role,
        "position": call.position,
    }


def _prompt(call: ScriptedCall) -> dict[str, JsonValue]:
    return {"prompt": [cast("JsonValue", asdict(message)) for message in call.prompt]}


def read_journal(path: Path) -> list[ScriptedCall]:
    """Return the calls of a journal file in the order they began. A line that a full disk cut is passed over."""
    calls: dict[str, ScriptedCall] = {}
    if not path.exists():
        return []
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["at"] == "begin":
            prompt = [Message(message["role"], message["text"]) for message in record["prompt"]]
            place = (record["nodeId"], record["visitId"], record["role"], record["position"])
            calls[record["id"]] = ScriptedCall(
                record["key"], record["model"], record["runId"], *place, prompt, id=record["id"]
            )
        elif call := calls.get(record["id"]):
            call.ended, call.aborted, call.error = True, record["aborted"], record["error"]
    return list(calls.values())


class _Scripts:
    """Scripts that were read, by the very value they were read from: a run hands over the same one at each call."""

    def __init__(self, size: int = 64) -> None:
        self._read: OrderedDict[int, tuple[JsonValue, Script]] = OrderedDict()
        self._size = size

    def read(self, value: JsonValue) -> Script:
        known = self._read.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        script = read_script(value)
        self._read[id(value)] = (value, script)
        if len(self._read) > self._size:
            self._read.popitem(last=False)
        return script


class ScriptedModel:
    """A model entry that plays a script: its own, else that of the run's graph."""

    decider: Decider | None = None

    def __init__(
        self,
        *,
        clock: Clock,
        journal: CallJournal,
        name: str = SCRIPTED,
        script: JsonValue = None,
        prices: Prices | None = None,
        limits: CallLimits | None = None,
        gate: Gate | None = None,
    ) -> None:
        """Raises InvalidError: the entry's own script cannot be read."""
        self.name = name
        self._own = None if script is None else read_script(script)
        self._scripts = _Scripts()
        self._clock = clock
        self._journal = journal
        self._prices = prices
        self._limits = limits or CallLimits()
        self._gate = gate

    @property
    def has_price(self) -> bool:
        return self._prices is not None

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        call = _seen(self.name, request)
        await self._begin(call)
        pieces: list[str] = []
        call.aborted = True  # until it is known better: closing this iterator raises nothing that names itself
        try:
            if self._gate is not None:
                await self._gate(request.site)
            reply = self._reply(request.site)
            await self._wait(reply.delay_ms / 1000, self._limits.first_byte_seconds, "no byte of an answer")
            if reply.http_error is not None:
                raise fault_of_status(self.name, reply.http_error, "as scripted", retry_after_seconds=reply.retry_after)
            if reply.hang:
                await self._wait(float("inf"), self._limits.first_byte_seconds, "no byte of an answer")
            calls = _tool_calls(reply, request)
            for index, piece in enumerate(() if calls else reply.pieces(_last_answer(request.messages))):
                if index:
                    await self._wait(reply.every_ms / 1000, self._limits.between_chunks_seconds, "no further piece")
                pieces.append(piece)
                if piece:
                    yield piece
            call.aborted = False
        except FlybackError as error:
            call.aborted, call.error = False, error.code
            raise
        finally:
            await self._end(call)
        text = "".join(pieces)
        usage = priced(estimate(request.messages, text), self._prices)
        reason = "tool_call" if calls else reply.finish_reason
        yield ChatReply(text, reason, usage, self.name, tool_calls=calls)

    def _reply(self, site: CallSite) -> Reply:
        script = self._script(site)
        if script is None:
            message = f"Model {self.name!r} has no script for this run."
            raise ScriptExhaustedError(message, node=site.node_id, fix="Give the graph file, or the entry, a 'script'.")
        part = script.planner if site.role == "planner" else script.nodes.get(site.node_id)
        reply = part.reply_at(site.position) if part is not None else None
        if reply is None:
            raise _exhausted(self.name, site, part)
        return reply

    def _script(self, site: CallSite) -> Script | None:
        if self._own is not None or site.script is None:
            return self._own
        try:
            return self._scripts.read(site.script)
        except InvalidError as error:
            raise ConfigInvalidError(error.message, node=site.node_id, field=error.field, fix=error.fix) from error

    async def _wait(self, seconds: float, limit_seconds: float, what: str) -> None:
        if seconds > limit_seconds:
            await self._clock.sleep(limit_seconds)
            raise timed_out(self.name, f"{what} within {limit_seconds:g} s.")
        if seconds > 0:
            await self._clock.sleep(seconds)

    async def _begin(self, call: ScriptedCall) -> None:
        try:
            await self._journal.begin(call)
        except OSError as error:
            fix = "Free some room in the data folder, or mend its permissions."
            raise unavailable(f"Model {self.name!r}: its journal cannot be written ({error}).", fix=fix) from error

    async def _end(self, call: ScriptedCall) -> None:
        call.ended = True
        try:
            await self._journal.end(call)
        except OSError as error:
            _log.warning("the end of scripted call %s could not be written: %s", call.key, error)


def _seen(model: str, request: ChatRequest) -> ScriptedCall:
    site = request.site
    return ScriptedCall(
        site.idempotency_key,
        model,
        site.run_id,
        site.node_id,
        site.visit_id,
        site.role,
        site.position,
        tuple(request.messages),
    )


def _tool_calls(reply: Reply, request: ChatRequest) -> Sequence[ToolCall]:
    """The tool that the reply calls; where none may be called, it is said as text."""
    if reply.tool is None or not request.tools:
        return ()
    return [ToolCall(f"call-{request.site.position + 1}", reply.tool.name, reply.tool.args)]


def _last_answer(messages: Sequence[Message]) -> str:
    """What the person said last: as the answer to a question, else as the prompt."""
    said = (message for message in reversed(messages) if message.role == "user" or message.tool == CLARIFY)
    return next((message.text for message in said), "")


def _exhausted(model: str, site: CallSite, part: ScriptPart | None) -> ScriptExhaustedError:
    who = "the planner" if site.role == "planner" else f"node {site.node_id!r}"
    count = len(part.replies) if part is not None else 0
    had = "no reply at all" if not count else f"{count} {'reply' if count == 1 else 'replies'}, and all were used"
    message = f"Model {model!r}: the script has {had} for {who}; this is call {site.position + 1}."
    return ScriptExhaustedError(message, node=site.node_id, fix="Add a reply to the script, or set repeatLast.")
