"""The sandbox: an interpreter of its own kind, in a process of its own, with nothing within reach.

The interpreter has a few modules of pure computing and no files, sockets, environment or subprocesses; what a program asks
of an operating system is refused. Of the server's it gets JSON and nothing else. The interpreter keeps the limits itself;
where it does not, its process is ended from outside, by the pool and by the kernel. Each program gets a fresh process, which
starts with an empty environment and ends with the program; one is kept ready.

An output is turned into JSON text inside the process: what comes back is a text and never an object that a program built.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError, CodeError, CodeMemoryError, CodeOffError, OutputTooLargeError
from flyback.domain.json_value import dumps, loads_mended
from flyback.engine.ports import CodeResult
from flyback.providers.sandbox.limits import CodeLimits

if TYPE_CHECKING:  # loaded with the first program
    from pydantic_monty import AsyncMonty, AsyncMontySession

_MIB = 1024 * 1024
_KERNEL_MEMORY_BYTES = 768 * _MIB
"""Of the whole process: far beyond what the interpreter allows, and far below what hurts the machine."""


class MontySandbox:
    """Runs each program in a process of its own."""

    def __init__(self, *, limits: CodeLimits | None = None, is_on: bool = True) -> None:
        self.limits = limits or CodeLimits()
        self._is_on = is_on
        self._pool: AsyncMonty | None = None
        self._opening = asyncio.Lock()

    async def run(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:
        if not self._is_on:
            raise CodeOffError(
                "code nodes are switched off on this server", fix="The operator switches them on: FLYBACK_CODE=on."
            )
        for name in (*inputs, *outputs):
            assert name.isidentifier(), "names are checked where they are given"
        self._check(source, inputs)
        async with self._fresh_process() as session:
            printed = await self._execute(session, source, inputs)
            values, mended = await self._read(session, outputs)
            return CodeResult(values, printed, mended)

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            await pool.__aexit__(None, None, None)

    def _check(self, source: str, inputs: Mapping[str, JsonValue]) -> None:
        if len(source) > self.limits.source_characters:
            most = f"{self.limits.source_characters:,}"
            raise CodeError(f"the program has more than {most} characters", field="source")
        if len(dumps(dict(inputs))) > self.limits.input_bytes:
            raise CodeMemoryError(
                f"the inputs are larger than {self.limits.input_bytes // _MIB} MiB",
                field="inputs",
                fix="Give the program a part of them.",
            )

    async def _execute(self, session: AsyncMontySession, source: str, inputs: Mapping[str, JsonValue]) -> str:
        """Run the program; return what it printed."""
        from pydantic_monty import CollectString

        from flyback.providers.sandbox.faults import fault_of

        printed = CollectString(max_bytes=self.limits.output_bytes)
        # The line at the end keeps the value of a last expression in the process.
        program = source.removeprefix("\ufeff") + "\nNone\n"
        try:
            await session.feed_run(program, inputs=dict(inputs), print_callback=printed)
        except Exception as error:
            raise fault_of(error, self.limits) from error
        return printed.output

    async def _read(
        self, session: AsyncMontySession, outputs: Sequence[str]
    ) -> tuple[Mapping[str, JsonValue], Sequence[str]]:
        """Read the outputs that the program set, with notes on what was mended."""
        values: dict[str, JsonValue] = {}
        mended: list[str] = []
        room = self.limits.output_bytes
        for name in outputs:
            text = await self._json_text(session, name)
            if text is None:
                continue
            room -= len(text)
            if room < 0:
                raise OutputTooLargeError(
                    f"the outputs are larger than {self.limits.output_bytes / _MIB:g} MiB",
                    fix="Give out a part of them.",
                )
            values[name], notes = _value(name, text)
            mended.extend(f"{name}: {note}" for note in notes)
        return values, mended

    async def _json_text(self, session: AsyncMontySession, name: str) -> str | None:
        from pydantic_monty import CollectString, MontyRuntimeError

        from flyback.providers.sandbox.faults import fault_of, is_a_limit

        silent = CollectString(max_bytes=1024)
        try:
            text: object = await session.feed_run(f"import json as _j\n_j.dumps({name})", print_callback=silent)
        except MontyRuntimeError as error:
            if isinstance(error.exception(), NameError):
                return None
            if is_a_limit(error):
                raise fault_of(error, self.limits) from error
            raise _not_json(name, error.display("type-msg")) from error
        except Exception as error:
            raise fault_of(error, self.limits) from error
        if not isinstance(text, str):
            raise _not_json(name, "it cannot be written as JSON")
        return text

    @asynccontextmanager
    async def _fresh_process(self) -> AsyncGenerator[AsyncMontySession]:
        limits = self.limits
        checked_out = (await self._processes()).checkout(
            script_name="code.py",
            limits={
                "max_feed_duration_secs": limits.seconds,
                "max_turn_duration_secs": limits.seconds,
                "max_memory": limits.memory_bytes,
                "max_recursion_depth": limits.recursion,
                "max_suspensions": limits.suspensions,
                "max_total_sleep_secs": 0.0,
            },
            os_policy={"sleep": "zero", "process_time": "zero"},
        )
        async with checked_out as session:
            _fence(session.worker_pid, limits)
            yield session

    async def _processes(self) -> AsyncMonty:
        if self._pool is None:
            async with self._opening:
                if self._pool is None:
                    self._pool = await _open_pool(self.limits)
        return self._pool


async def _open_pool(limits: CodeLimits) -> AsyncMonty:
    try:
        pool = await asyncio.to_thread(_make_pool, limits)
        await pool.__aenter__()
    except (ImportError, OSError, RuntimeError) as error:
        raise CodeOffError(
            f"the program that runs code cannot be started: {error}", fix="Install Flyback again, with pydantic-monty."
        ) from error
    return pool


def _make_pool(limits: CodeLimits) -> AsyncMonty:
    from pydantic_monty import AsyncMonty

    return AsyncMonty(
        min_processes=1,
        max_processes=limits.processes,
        max_checkouts_per_worker=1,
        request_timeout=limits.seconds + 2 * limits.grace_seconds,
        feed_duration_limit_grace=limits.grace_seconds,
        turn_duration_limit_grace=limits.grace_seconds,
    )


def _fence(process_id: int | None, limits: CodeLimits) -> None:
    """Let the kernel end the process too: it needs neither the interpreter nor this server to be well."""
    if sys.platform != "linux" or process_id is None:
        return
    import resource

    seconds = round(3 * (limits.seconds + limits.grace_seconds)) + 1
    fences = (
        (resource.RLIMIT_AS, _KERNEL_MEMORY_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    )
    with suppress(ProcessLookupError, PermissionError):
        for kind, most in fences:
            resource.prlimit(process_id, kind, (most, most))


def _value(name: str, text: str) -> tuple[JsonValue, Sequence[str]]:
    try:
        return loads_mended(text)
    except BadJsonError as error:
        raise _not_json(name, error.message) from error


def _not_json(name: str, why: str) -> CodeError:
    return CodeError(
        f"the output {name!r} cannot be given out: {why[:300]}",
        field="outputs",
        fix="Give out texts, numbers, booleans, None, and lists and dictionaries of them.",
    )
