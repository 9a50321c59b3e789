"""Real Flyback servers and workers in processes of their own: started, killed, frozen, started again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

_SIGN_IN = re.compile(r"Sign in: (http://127\.0\.0\.1:\d+)/sign-in#secret=(\S+)")
_START_SECONDS = 60
_STOP_SECONDS = 45


@dataclass
class Server:
    """`options` are further words for `flyback serve`, `environment` further variables."""

    data: Path
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    base_url: str = ""
    _process: subprocess.Popen[str] | None = None
    _reader: threading.Thread | None = None
    _key: str = ""
    _log: list[str] = field(default_factory=list[str])

    def start(self) -> None:
        """Start the process and wait until it can be talked to."""
        command = [
            sys.executable,
            "-m",
            "flyback.main",
            "serve",
            "--data",
            str(self.data),
            "--port",
            "0",
            *self.options,
        ]
        environment = {**os.environ, **self.environment, "PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        secret = self._read_link(self._process)
        self._reader = threading.Thread(target=self._read_on, args=(self._process,), daemon=True)
        self._reader.start()
        if not self._key:
            self._key = self._make_key(secret)

    def kill(self) -> None:
        """End the process as a power cut ends it."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the process in order."""
        self._end(signal.SIGTERM)

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(
            base_url=f"{self.base_url}/api",
            headers={"Authorization": f"Bearer {self._key}"},
            timeout=30,
            trust_env=False,
            **options,
        )

    @property
    def log(self) -> str:
        return "".join(self._log)

    def _read_link(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        watchdog = threading.Timer(_START_SECONDS, process.kill)
        watchdog.start()
        try:
            for line in process.stdout:
                self._log.append(line)
                if found := _SIGN_IN.search(line):
                    self.base_url = found[1]
                    return found[2]
        finally:
            watchdog.cancel()
        raise AssertionError(f"the server did not start:\n{self.log}")

    def _read_on(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._log.append(line)

    def _make_key(self, secret: str) -> str:
        with httpx.Client(base_url=f"{self.base_url}/api", trust_env=False) as client:
            signed_in = client.post("/auth/sign-in", json={"secret": secret})
            assert signed_in.status_code == 200, signed_in.text
            token = {"X-CSRF-Token": signed_in.json()["csrfToken"]}
            made = client.post("/auth/api-keys", json={"name": "test"}, headers=token)
            assert made.status_code == 201, made.text
            return made.json()["key"]

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the server did not stop:\n{self.log}") from None
        finally:
            if self._reader is not None:
                self._reader.join()
            assert process.stdout is not None
            process.stdout.close()


class Worker:
    """`flyback worker`, at work as soon as it is made."""

    def __init__(self, data: Path, url: str, **environment: str) -> None:
        command = [sys.executable, "-m", "flyback.main", "worker", "--data", str(data), "--database-url", url]
        command += ["--port", "0"]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **environment, "PYTHONUNBUFFERED": "1"},
        )
        self._log: list[str] = []
        self._is_up = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_until_up(self) -> None:
        assert self._is_up.wait(_START_SECONDS), self.log

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def freeze(self) -> None:
        """Stop it in its tracks, and return when it stands still."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def end(self, number: signal.Signals) -> int:
        """Send a signal that ends it, and return its exit code."""
        self._process.send_signal(number)
        try:
            code = self._process.wait(_STOP_SECONDS)
        finally:
            self._process.kill()
        self._reader.join()
        return code

    @property
    def watch_url(self) -> str:
        """Where it answers those who watch it."""
        place = re.search(r"can be watched on (\S+)", self.log)
        assert place is not None, self.log
        return f"http://{place[1]}"

    @property
    def log(self) -> str:
        return "".join(self._log)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._log.append(line)
                if "working" in line:
                    self._is_up.set()


@contextmanager
def running_server(data: Path, *options: str, **environment: str) -> Generator[Server]:
    server = Server(data, options, environment)
    server.start()
    try:
        yield server
    finally:
        server.stop()
