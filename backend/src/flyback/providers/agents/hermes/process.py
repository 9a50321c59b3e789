"""One child process with a Hermes in it: started, listened to, and ended with everything that it started."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pydantic import JsonValue

from flyback.domain.errors import AgentRuntimeError, BadJsonError
from flyback.domain.json_value import dumps, loads_mended
from flyback.providers.agents.hermes.install import HermesInstall

_CHILD = Path(__file__).with_name("child.py")
_LONGEST_LINE = 32 * 1024 * 1024
_LARGEST_LOG = 5 * 1024 * 1024
_START_SECONDS = 60.0
_CONFIG = """\
agent: {environment_probe: false}
model: {context_length: 128000}
auxiliary: {compression: {context_length: 128000}}
"""
"""Spares Hermes what it would look up of the machine and of the model, where the operator has set nothing."""

Sentence = Mapping[str, JsonValue]


class HermesProcess:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._to = process.stdin
        self._from = process.stdout

    async def say(self, sentence: Sentence) -> None:
        with suppress(ConnectionError):  # that it is gone is told when it is listened to
            self._to.write(dumps(dict(sentence)).encode() + b"\n")
            await self._to.drain()

    async def hear(self) -> Sentence:
        """Return what it says next. Raises AgentRuntimeError: it is gone, or says what cannot be read."""
        try:
            line = await self._from.readline()
            said = loads_mended(line.decode("utf-8", "replace"))[0] if line else None
        except (ValueError, BadJsonError) as error:
            raise fault(f"it said what cannot be read: {str(error)[:300]}") from error
        if isinstance(said, dict):
            return said
        raise fault(f"it ended in the middle of its work ({await self._process.wait()})")

    async def ready(self) -> None:
        """Wait until it can be given work. Raises AgentRuntimeError."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                said = await self.hear()
        except TimeoutError:
            raise fault(f"it did not start within {_START_SECONDS:.0f} s") from None
        if said.get("type") != "ready":
            raise fault(str(said.get("message", "it did not start"))[:300])


@asynccontextmanager
async def hermes_process(install: HermesInstall) -> AsyncGenerator[HermesProcess]:
    """Start a Hermes in a folder of its own; at the end it is gone, and so is the folder.

    Raises:
        AgentRuntimeError: it cannot be started.
    """
    folder, log = await asyncio.to_thread(_prepare, install)
    try:
        process = await _start(install, folder, log)
        try:
            child = HermesProcess(process)
            await child.ready()
            yield child
        finally:
            await asyncio.shield(_end(process))
    finally:
        log.close()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _start(install: HermesInstall, folder: Path, log: BinaryIO) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *install.command(_CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            cwd=folder,
            env=_environment(install, folder),
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
    except OSError as error:
        raise fault(f"{str(install.python)!r} cannot be started: {error.strerror}") from error


async def _end(process: asyncio.subprocess.Process) -> None:
    """End it with whatever it started: they are one session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _prepare(install: HermesInstall) -> tuple[Path, BinaryIO]:
    folder = Path(tempfile.mkdtemp(prefix="flyback-hermes-"))
    (folder / "config.yaml").write_text(_CONFIG)
    log = install.log_file.open("ab")
    if log.tell() > _LARGEST_LOG:
        log.truncate(0)
    return folder, log


def _environment(install: HermesInstall, folder: Path) -> dict[str, str]:
    """Nothing of the server's environment but where programs lie: secrets stay here."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    home = str(install.home or folder)
    return {**kept, "HOME": str(folder), "HERMES_HOME": home, "PYTHONUTF8": "1", **install.more_environment}


_KEPT: Sequence[str] = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")


def fault(what: str) -> AgentRuntimeError:
    """Return the failure of a turn whose Hermes did not do its part."""
    fix = "Look at hermes.log in the data folder, or run: flyback doctor"
    return AgentRuntimeError(f"the Hermes Agent failed: {what}", field="runtime", fix=fix)
