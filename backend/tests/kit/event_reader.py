"""Reads an event stream by the letter of the specification, byte by byte, in a thread of its own."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass(frozen=True, slots=True)
class ReadEvent:
    id: str | None
    type: str
    data: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.data)

    @property
    def is_durable(self) -> bool:
        return self.id is not None


@dataclass
class EventParser:
    """Fed bytes in whatever pieces; yields whole events."""

    _line: bytearray = field(default_factory=bytearray)
    _after_return: bool = False
    _id: str | None = None
    _type: str = ""
    _data: list[str] = field(default_factory=list[str])

    def feed(self, content: bytes) -> Iterator[ReadEvent]:
        for byte in content:
            if byte == 0x0A and self._after_return:
                self._after_return = False
                continue
            self._after_return = byte == 0x0D
            if byte not in (0x0A, 0x0D):
                self._line.append(byte)
                continue
            line = self._line.decode("utf-8")
            self._line.clear()
            yield from self._take(line)

    def _take(self, line: str) -> Iterator[ReadEvent]:
        if not line:
            if self._data:
                yield ReadEvent(self._id, self._type or "message", "\n".join(self._data))
            self._id, self._type, self._data = None, "", []
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "id":
                self._id = value
            case "event":
                self._type = value
            case "data":
                self._data.append(value)
            case _:
                pass


class EventReader:
    """Follows one stream until it ends or is closed."""

    def __init__(self, client: httpx.Client, path: str, *, last_event_id: str | None = None) -> None:
        self.events: list[ReadEvent] = []
        self.headers: httpx.Headers = httpx.Headers()
        self.status_code = 0
        self.ended = False
        self._client = client
        self._changed = threading.Condition()
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        self._thread = threading.Thread(target=self._read, args=(path, headers), daemon=True)
        self._thread.start()

    @property
    def durable(self) -> list[ReadEvent]:
        return [event for event in self.events if event.is_durable]

    def wait(self, holds: Callable[[EventReader], bool], *, within_seconds: float) -> None:
        """Return when something holds of what was read so far; fail when it does not within the time."""
        deadline = time.monotonic() + within_seconds
        with self._changed:
            while not holds(self):
                left = deadline - time.monotonic()
                assert left > 0, f"not within {within_seconds} s: {[event.data[:200] for event in self.events]}"
                self._changed.wait(left)

    def close(self) -> None:
        """Let go of the connection, as a browser that is closed."""
        self._client.close()
        self._thread.join(timeout=10)

    def _read(self, path: str, headers: dict[str, str]) -> None:
        parser = EventParser()
        try:
            with self._client.stream("GET", path, headers=headers) as response:
                self.headers, self.status_code = response.headers, response.status_code
                for content in response.iter_raw():
                    found = list(parser.feed(content))
                    with self._changed:
                        self.events.extend(found)
                        self._changed.notify_all()
        except (httpx.HTTPError, httpx.StreamError, OSError, ValueError, AttributeError):
            pass  # the connection was closed here or there: what was read is what counts
        self._client.close()
        with self._changed:
            self.ended = True
            self._changed.notify_all()
