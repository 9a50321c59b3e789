"""Runs inside a Hermes that the operator installed: one turn of one agent, spoken of in JSON lines over stdin and stdout.

Hermes asks its models over HTTP. What it takes for its endpoint is a door in this process: every model call goes up the
line, so that the server meters and records it and this process knows no key. Tools of the server are called the same
way. This file needs nothing of ours: it is run by another Python. Its sentences are answered in `runtime.py`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import queue
import secrets
import signal
import threading
import types
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OURS = "flyback"
_MODEL = "flyback"
_CONTEXT_TOKENS = 128_000
_TASK = "turn"
"""What Hermes keeps the state of its tools by."""


class Line:
    """The line to the server. Its end is the end of this process: nobody would hear what it does then."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        self._in = os.fdopen(os.dup(0), "rb")
        # Hermes writes to stdout as it likes: from here on that is stderr.
        os.dup2(2, 1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self._writing = threading.Lock()
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._asked = 0

    def say(self, **sentence: Any) -> None:
        with self._writing:
            self._out.write(json.dumps(sentence).encode() + b"\n")
            self._out.flush()

    def ask(self, **sentence: Any) -> dict[str, Any]:
        """Say something and wait for its answer."""
        with self._writing:
            self._asked += 1
            number = self._asked
            waiting = self._answers[number] = queue.Queue()
        self.say(id=number, **sentence)
        return waiting.get()

    def first(self) -> dict[str, Any]:
        return json.loads(self._in.readline())

    def listen(self) -> None:
        for raw in self._in:
            answer = json.loads(raw)
            self._answers.pop(answer["id"]).put(answer)
        os.killpg(0, signal.SIGKILL)  # and with it whatever it started


def serve_models(line: Line) -> tuple[str, str]:
    """Open the door that Hermes takes for its endpoint. Returns its address and its key."""
    key = secrets.token_urlsafe(32)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Door, line, key))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1", key


class Door(BaseHTTPRequestHandler):
    """Answers as an OpenAI-compatible endpoint does; each call goes up the line."""

    protocol_version = "HTTP/1.1"

    def __init__(self, line: Line, key: str, *args: Any) -> None:
        self._line = line
        self._key = key
        super().__init__(*args)

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": _MODEL, "object": "model", "context_length": _CONTEXT_TOKENS}]}
        self._answer(200, models) if self.path.endswith("/models") else self._answer(404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))))
        if self.headers.get("authorization") != f"Bearer {self._key}":
            self._answer(401, {})
        elif not self.path.endswith("/chat/completions"):
            self._answer(404, {})
        else:
            said = self._line.ask(type="model", messages=body["messages"], tools=body.get("tools", []))
            self._stream(said["completion"]) if body.get("stream") else self._answer(200, said["completion"])

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self, status: int, content: Any) -> None:
        self._send(status, "application/json", json.dumps(content).encode())

    def _stream(self, completion: dict[str, Any]) -> None:
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks_of(completion)) + "data: [DONE]\n\n"
        self._send(200, "text/event-stream", text.encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def chunks_of(completion: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a whole completion as a stream tells it."""
    choice = completion["choices"][0]
    message = dict(choice["message"])
    calls = [{"index": place, **call} for place, call in enumerate(message.pop("tool_calls", None) or [])]
    delta = {**message, "tool_calls": calls} if calls else message
    head = {key: completion[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    return [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**head, "choices": [], "usage": completion["usage"]},
    ]


def add_tools(line: Line, registry: Any, tools: list[dict[str, Any]]) -> None:
    """Give Hermes the server's tools, as a tool set of its own."""

    def calling(name: str) -> Callable[..., str]:
        def call(arguments: dict[str, Any], **_: Any) -> str:
            return line.ask(type="tool", name=name, arguments=arguments)["text"]

        return call

    for tool in tools:
        registry.register(name=tool["name"], toolset=OURS, schema=tool, handler=calling(tool["name"]), override=True)


def work(line: Line, given: dict[str, Any]) -> None:
    hermes: types.ModuleType = __import__("run_agent")
    registry = __import__("tools.registry", fromlist=["registry"]).registry
    add_tools(line, registry, given["tools"])
    address, key = serve_models(line)

    def ask_person(question: str, *_: Any, **__: Any) -> str:
        return line.ask(type="clarify", question=question)["text"]

    ours = {tool["name"] for tool in given["tools"]} | {"clarify"}

    def tool_begins(call_id: str, name: str, arguments: Any) -> None:
        if name not in ours:
            line.ask(type="begin", callId=call_id, name=name, arguments=arguments)

    def tool_ended(call_id: str, name: str, _arguments: Any, result: Any) -> None:
        if name not in ours - {"clarify"}:
            line.say(type="used", callId=call_id, text=str(result))

    agent = hermes.AIAgent(
        base_url=address,
        api_key=key,
        provider="custom",
        api_mode="chat_completions",
        model=_MODEL,
        max_iterations=given["maxSteps"],
        tool_delay=0,
        enabled_toolsets=[OURS, *given["toolsets"]],
        quiet_mode=True,
        skip_context_files=True,
        skip_memory=True,
        clarify_callback=ask_person,
        tool_start_callback=tool_begins,
        tool_complete_callback=tool_ended,
        ephemeral_system_prompt=given["system"],
    )
    history = list(given["history"])
    for call in given["pending"]:
        tool_begins(call["callId"], call["name"], call["arguments"])
        result = agent._invoke_tool(call["name"], call["arguments"], _TASK)
        tool_ended(call["callId"], call["name"], call["arguments"], result)
        history.append({"role": "tool", "tool_call_id": call["callId"], "content": str(result)})
    done = agent.run_conversation(given["user"], conversation_history=history, task_id=_TASK)
    line.say(type="final", text=str(done.get("final_response") or ""), error=done.get("error"))


def main() -> None:
    line = Line()
    try:
        line.say(type="ready", version=importlib.metadata.version("hermes-agent"))
        given = line.first()
        threading.Thread(target=line.listen, daemon=True).start()
        work(line, given)
    except BaseException as error:
        line.say(type="failed", message=f"{type(error).__name__}: {error}"[:2_000])
    os._exit(0)


if __name__ == "__main__":
    main()
