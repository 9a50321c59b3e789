"""The one process that holds the embedded model, as the rest of the product sees it.

It is started by the first call, ends when it has been idle for a while, and is started again by the next call after it
crashed or ran out of memory: that is a fault of the model, and passes. It gives way to everything else on the machine.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, JsonValue, ValidationError

from flyback.domain.errors import ModelUnavailableError
from flyback.domain.json_value import dumps
from flyback.providers.embedded import host_process

CONTEXT_TOKENS = 8192
IDLE_SECONDS = 900.0
_LOAD_SECONDS = 180.0
_END_SECONDS = 5.0
_MAX_THREADS = 4
_LINE_BYTES = 4 * 1024 * 1024
_FIX = "Try again; if it stays so, choose the small embedded model or add another model."


class HostEvent(BaseModel):
    """One line from the process."""

    id: int = 0
    event: Literal["ready", "started", "progress", "text", "score", "done", "error"]
    text: str = ""
    score: float = 0.0
    finish: str = "stop"
    input_tokens: int = Field(default=0, alias="inputTokens")
    output_tokens: int = Field(default=0, alias="outputTokens")
    kind: str = ""
    """Of an error: `context`, `refused`, `stopped` or `failed`."""
    message: str = ""

    @property
    def is_last(self) -> bool:
        return self.event in ("done", "error")


class EmbeddedHost:
    """Calls to the process, which it starts and stops. Belongs to one event loop."""

    def __init__(
        self,
        find_model: Callable[[], Path],
        *,
        log_file: Path | None = None,
        idle_seconds: float = IDLE_SECONDS,
        context_tokens: int = CONTEXT_TOKENS,
    ) -> None:
        """`find_model` returns the checked model file, or raises a FlybackError; it may take seconds."""
        self._find_model = find_model
        self._log_file = log_file
        self._idle_seconds = idle_seconds
        self._context_tokens = context_tokens
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._readers: set[asyncio.Task[None]] = set()
        self._waiting: dict[int, asyncio.Queue[HostEvent]] = {}
        self._ids = count(1)
        self._retirement: asyncio.TimerHandle | None = None

    @property
    def process_id(self) -> int | None:
        """Of the process, while it lives."""
        return self._process.pid if self._process is not None else None

    async def call(self, request: Mapping[str, JsonValue]) -> AsyncGenerator[HostEvent, None]:
        """Send a request and yield what comes back, up to `done` or `error`. Closing the generator cancels it.

        Raises:
            FlybackError: there is no model file, or the process could not be started.
        """
        name = next(self._ids)
        events: asyncio.Queue[HostEvent] = asyncio.Queue()
        self._waiting[name] = events
        ended = False
        try:
            process = await self._running()
            _send(process, {**request, "id": name})
            while not ended:
                event = await events.get()
                ended = event.is_last
                yield event
        finally:
            del self._waiting[name]
            if not ended and self._process is not None:
                _send(self._process, {"op": "cancel", "id": name})
            self._rest()

    async def close(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        self._rest()
        if process is not None:
            await _end(process)
        await asyncio.gather(*self._readers)

    async def _running(self) -> asyncio.subprocess.Process:
        if self._retirement is not None:
            self._retirement.cancel()
        async with self._starting:
            if self._process is None:
                self._process = await self._start()
            return self._process

    async def _start(self) -> asyncio.subprocess.Process:
        model = await asyncio.to_thread(self._find_model)
        process = await self._launch(model)
        try:
            await self._wait_until_ready(process)
        except BaseException:
            await _end(process)
            raise
        reader = asyncio.create_task(self._read(process), name="embedded model")
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        return process

    async def _launch(self, model: Path) -> asyncio.subprocess.Process:
        command = [sys.executable, "-P", host_process.__file__, str(model)]
        command += ["--context-tokens", str(self._context_tokens), "--threads", str(_threads())]
        command += ["--parent", str(os.getpid())]
        log = await asyncio.to_thread(Path(self._log_file or os.devnull).open, "wb")
        with log:
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={name: value for name, value in os.environ.items() if not name.startswith("FLYBACK_")},
                start_new_session=True,
                limit=_LINE_BYTES,
            )

    async def _wait_until_ready(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            async with asyncio.timeout(_LOAD_SECONDS):
                line = await process.stdout.readline()
        except TimeoutError as error:
            what = f"the embedded model was not loaded within {_LOAD_SECONDS:.0f} s"
            raise ModelUnavailableError(what, fix=_FIX) from error
        answer = _read_line(line)
        if answer is None or answer.event != "ready":
            what = answer.message if answer is not None else "its process ended while it was loaded"
            raise ModelUnavailableError(f"the embedded model did not start: {what}", fix=_FIX)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Hand each line to the call that waits for it; at the end, tell those left over."""
        assert process.stdout is not None
        while answer := _read_line(await process.stdout.readline()):
            if answer.id in self._waiting:
                self._waiting[answer.id].put_nowait(answer)
        status = await process.wait()
        if self._process is not process:
            return
        self._process = None
        what = f"the embedded model's process ended ({_ending(status)})"
        for events in self._waiting.values():
            events.put_nowait(HostEvent(event="error", kind="failed", message=what))

    def _rest(self) -> None:
        """With nothing left to do, let the process end after a while."""
        if self._retirement is not None:
            self._retirement.cancel()
            self._retirement = None
        if self._process is not None and not self._waiting:
            loop = asyncio.get_running_loop()
            self._retirement = loop.call_later(self._idle_seconds, self._retire)

    def _retire(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()


def _threads() -> int:
    return max(1, min(_MAX_THREADS, len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1))


def _send(process: asyncio.subprocess.Process, request: Mapping[str, JsonValue]) -> None:
    assert process.stdin is not None
    if not process.stdin.is_closing():
        process.stdin.write(dumps(request).encode() + b"\n")


def _read_line(line: bytes) -> HostEvent | None:
    """Return what the process says, or None at its end. A line that a death cut off counts as the end."""
    try:
        return HostEvent.model_validate_json(line)
    except ValidationError:
        return None


def _ending(status: int) -> str:
    return f"killed by signal {-status}" if status < 0 else f"exit status {status}"


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the pipe, at which the process ends by itself; kill it where it does not."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_END_SECONDS):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
