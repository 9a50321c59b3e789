"""A model server: speaks OpenAI's chat protocol over real HTTP, streaming and not, with gates and every fault.

It is written on bare sockets, so that it can also say what no HTTP library would. What it was asked is on record, with
whether the caller went away before the answer was complete.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, cast

from pydantic import JsonValue


@dataclass(slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Mapping[str, JsonValue]
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the caller closed the connection before the answer was complete."""
    answered: bool = False

    @property
    def streamed(self) -> bool:
        return self.body.get("stream") is True

    @property
    def prompt(self) -> str:
        """System and user text together."""
        messages = cast("list[dict[str, str]]", self.body.get("messages", []))
        return "\n".join(message["content"] for message in messages)


class Line:
    """The way back to the caller."""

    def __init__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.asked = asked
        self._writer = writer

    async def send(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items())]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def whole(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.head(status, {"content-type": kind, "content-length": str(len(body)), **more})
        await self.send(body)

    async def begin_stream(self) -> None:
        await self.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})

    async def event(self, data: JsonValue) -> None:
        await self.chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    async def chunk(self, raw: bytes) -> None:
        await self.send(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")

    async def end_stream(self) -> None:
        await self.chunk(b"data: [DONE]\n\n")
        await self.send(b"0\r\n\r\n")

    def reset(self) -> None:
        """End the connection without a farewell."""
        self._writer.transport.abort()


Answer = Callable[[Line], Awaitable[None]]


def _delta(text: str | None, finish: str | None = None, model: str = "tiny-1") -> JsonValue:
    delta: JsonValue = {} if text is None else {"role": "assistant", "content": text}
    choices: JsonValue = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}


def _usage(sent: int, answered: int) -> JsonValue:
    return {"prompt_tokens": sent, "completion_tokens": answered, "total_tokens": sent + answered}


def says(
    *pieces: str,
    finish: str | None = "stop",
    usage: tuple[int, int] | None = (11, 7),
    gate: asyncio.Event | None = None,
    streams: bool = True,
    model: str = "tiny-1",
) -> Answer:
    """Answer with these pieces. `gate` holds the answer after its first piece; `streams=False` answers in one piece
    however it was asked."""

    async def in_one(line: Line) -> None:
        if gate is not None:
            await gate.wait()
        message: JsonValue = {"role": "assistant", "content": "".join(pieces)}
        body: dict[str, JsonValue] = {"id": "c1", "object": "chat.completion", "created": 1, "model": model}
        body["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
        if usage is not None:
            body["usage"] = _usage(*usage)
        await line.whole(200, json.dumps(body).encode())

    async def in_pieces(line: Line) -> None:
        await line.begin_stream()
        for index, piece in enumerate(pieces):
            await line.event(_delta(piece, model=model))
            if index == 0 and gate is not None:
                await gate.wait()
        await line.event(_delta(None, finish, model))
        if usage is not None:
            await line.event(
                {**cast("dict[str, JsonValue]", _delta(None, None, model)), "choices": [], "usage": _usage(*usage)}
            )
        await line.end_stream()

    async def answer(line: Line) -> None:
        await (in_pieces(line) if streams and line.asked.streamed else in_one(line))

    return answer


def fails(status: int, message: str = "no", **headers: str) -> Answer:
    async def answer(line: Line) -> None:
        await line.whole(status, json.dumps({"error": {"message": message, "type": "x"}}).encode(), **headers)

    return answer


def hangs(*, after_head: bool = False, after: Sequence[str] = ()) -> Answer:
    """Say nothing any more: at once, after the head, or after these pieces."""

    async def answer(line: Line) -> None:
        if after_head or after:
            await line.begin_stream()
        for piece in after:
            await line.event(_delta(piece))
        await asyncio.Event().wait()

    return answer


def resets(*pieces: str) -> Answer:
    """End the connection: at once, or after these pieces."""

    async def answer(line: Line) -> None:
        if pieces:
            await line.begin_stream()
        for piece in pieces:
            await line.event(_delta(piece))
        line.reset()

    return answer


def breaks_off(*pieces: str) -> Answer:
    """Give half a stream, and end it as if it were whole."""

    async def answer(line: Line) -> None:
        await line.begin_stream()
        for piece in pieces:
            await line.event(_delta(piece))
        await line.send(b"0\r\n\r\n")

    return answer


def drips(text: str, *, every_seconds: float = 0.0) -> Answer:
    """Give a whole answer, one byte at a time."""

    async def answer(line: Line) -> None:
        await line.begin_stream()
        events = [_delta(text), _delta(None, "stop")]
        raw = b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events)
        for byte in raw:
            await line.chunk(bytes([byte]))
            await asyncio.sleep(every_seconds)
        await line.end_stream()

    return answer


def never_ends(piece: str = "x") -> Answer:
    async def answer(line: Line) -> None:
        await line.begin_stream()
        while True:
            await line.event(_delta(piece))
            await asyncio.sleep(0)

    return answer


def raw(body: bytes, *, status: int = 200, kind: str = "text/event-stream", **headers: str) -> Answer:
    """Answer with any bytes."""

    async def answer(line: Line) -> None:
        await line.whole(status, body, kind, **headers)

    return answer


class ModelServer:
    """`async with ModelServer() as server:`, then `server.base_url`. Answers in order; the last one stays."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers) or [says("ok")]
        self.asked: list[Asked] = []
        self._came = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def base_url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def then(self, *answers: Answer) -> None:
        """Answer like this from now on."""
        self._answers = list(answers)

    async def was_asked(self, times: int = 1) -> Asked:
        """Wait until that many requests have come; return the last of them."""
        async with self._came:
            await self._came.wait_for(lambda: len(self.asked) >= times)
        return self.asked[times - 1]

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            while (asked := await _read(reader)) is not None:
                await self._answer(asked, reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._talks.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        async with self._came:
            self.asked.append(asked)
            self._came.notify_all()
        answering = asyncio.ensure_future(answer(Line(asked, writer)))
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                asked.gone.set()
                raise ConnectionError("the caller went away")
            await answering
            asked.answered = True
        except ConnectionError:
            asked.gone.set()
            raise
        finally:
            for task in (answering, leaving):
                task.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, json.loads(body or b"{}"))
