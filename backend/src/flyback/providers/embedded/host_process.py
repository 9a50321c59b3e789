"""The process that holds the model: reads requests from stdin and answers on stdout, one JSON object a line.

It is started by `host.py` and knows nothing of runs. It ends with its parent, whichever way that went. Decisions have a
lane of their own, so that they never wait behind texts, and a slot of their own, so that what they begin with is read
once. The HTTP door that the library opens is shut with a random key that nobody is told.

Requests: `{"op": "chat", "id", "lane", "body"}`, `{"op": "score", "id", "prompts", "yes", "no"}`, `{"op": "cancel", "id"}`.
Answers: `{"event": "ready"}` once, then for an id `started`, any number of `progress`, `text` or `score`, and at last
`done` or `error`.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import math
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TextIO

_DECISION_SLOT = 0
_TEXT_SLOTS = (1, 2, 3)
_BATCH_TOKENS = 64
"""Small, so that a slow machine tells progress on a long prompt, and hears a cancel, about once a second."""
_TOP_TOKENS = 30
_NICENESS = 10
_OOM_SCORE = 600
"""Where memory runs out, the model goes before the server does."""
_PR_SET_PDEATHSIG = 1

Json = dict[str, Any]  # the library's own request and answer documents
Say = Callable[[Json], None]


class StoppedError(Exception):
    """The request was cancelled."""


class RefusedError(Exception):
    """The library did not take the request. `kind` is `context`, `refused` or `failed`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Slots:
    """The places in which texts are written, each with the conversation it still has in memory."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._free = dict.fromkeys(numbers, "")
        self._lock = threading.Lock()

    def take(self, conversation: str) -> int:
        """Take the free slot whose last conversation begins most like this one."""
        with self._lock:
            best = max(self._free, key=lambda slot: _shared(self._free[slot], conversation))
            del self._free[best]
            return best

    def give_back(self, slot: int, conversation: str) -> None:
        with self._lock:
            self._free[slot] = conversation


class Work:
    """The requests at hand."""

    def __init__(self, server: Any, to_grammar: Callable[[Json], str], say: Say) -> None:
        self._server = server
        self._to_grammar = to_grammar
        self._say = say
        self._stopped: set[int] = set()
        self._decisions = ThreadPoolExecutor(1, "decision")
        self._texts = ThreadPoolExecutor(len(_TEXT_SLOTS), "text")
        self._slots = Slots(_TEXT_SLOTS)

    def take(self, request: Json) -> None:
        match request["op"]:
            case "cancel":
                self._stopped.add(request["id"])
            case "score":
                self._decisions.submit(self._answer, request, self._score)
            case _ if request["lane"] == "decision":
                self._decisions.submit(self._answer, request, self._chat_as_decision)
            case _:
                self._texts.submit(self._answer, request, self._chat)

    def _answer(self, request: Json, answer: Callable[[Json], Json]) -> None:
        name = request["id"]
        try:
            self._check(name)
            self._say({"id": name, "event": "started"})
            self._say({"id": name, "event": "done", **answer(request)})
        except StoppedError:
            self._say({"id": name, "event": "error", "kind": "stopped", "message": "the request was cancelled"})
        except RefusedError as error:
            self._say({"id": name, "event": "error", "kind": error.kind, "message": str(error)})
        except Exception as error:
            self._say({"id": name, "event": "error", "kind": "failed", "message": f"{type(error).__name__}: {error}"})
        finally:
            self._stopped.discard(name)

    def _check(self, name: int) -> None:
        if name in self._stopped:
            raise StoppedError

    def _chat(self, request: Json) -> Json:
        conversation = json.dumps(request["body"]["messages"])
        slot = self._slots.take(conversation)
        try:
            return self._write(request, slot)
        finally:
            self._slots.give_back(slot, conversation)

    def _chat_as_decision(self, request: Json) -> Json:
        return self._write(request, _DECISION_SLOT)

    def _write(self, request: Json, slot: int) -> Json:
        body = request["body"] | {"id_slot": slot}
        if "json_schema" in body:
            # As a grammar, for the library drops what a schema says about white space.
            body["grammar"] = self._to_grammar(body.pop("json_schema"))
        end = self._stream(request["id"], body, self._say)
        return {key: value for key, value in end.items() if key != "rivals"}

    def _score(self, request: Json) -> Json:
        """Say for each prompt how much likelier the next word is a yes than a no."""
        used = {"inputTokens": 0, "outputTokens": 0}
        for messages in request["prompts"]:
            body = {
                "messages": messages,
                "max_tokens": 1,
                "temperature": 0,
                "logprobs": True,
                "top_logprobs": _TOP_TOKENS,
                "id_slot": _DECISION_SLOT,
            }
            end = self._stream(request["id"], body, self._say_progress)
            for count in used:
                used[count] += end[count]
            score = log_odds(end["rivals"], yes=request["yes"], no=request["no"])
            self._say({"id": request["id"], "event": "score", "score": score})
        return used

    def _say_progress(self, event: Json) -> None:
        if event["event"] == "progress":
            self._say(event)

    def _stream(self, name: int, body: Json, say: Say) -> Json:
        """Have one answer written, telling its pieces, and return how it ended."""
        end: Json = {"finish": "stop", "inputTokens": 0, "outputTokens": 0, "rivals": []}
        refused: list[Json] = []

        def receive(chunk: Json) -> bool:
            if "error" in chunk:
                refused.append(chunk["error"])
                return True
            for event in _events(chunk, end):
                say({"id": name, **event})
            return name in self._stopped

        streamed = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
        try:
            self._server.handle_chat_completions(body | streamed, receive)
        except ValueError as error:  # how the library says that it cannot read a request
            raise RefusedError("refused", str(error)) from error
        self._check(name)
        if refused:
            raise _refusal(refused[0])
        return end


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def log_odds(rivals: Sequence[Json], *, yes: Sequence[str], no: Sequence[str]) -> float:
    """Return log P(yes) − log P(no) of the next token, each with its spellings taken together.

    `rivals` are the likeliest tokens; a word that is not among them is taken to be as likely as the last of them.
    """

    def log_p(words: Sequence[str]) -> float:
        found = [rival["logprob"] for rival in rivals if rival["token"].strip().lower() in words]
        return math.log(sum(math.exp(logprob) for logprob in found)) if found else rivals[-1]["logprob"]

    return log_p(yes) - log_p(no)


def _events(chunk: Json, end: Json) -> Sequence[Json]:
    """Read one chunk of the library's stream: what is to be told, and into `end` how it ended."""
    told: list[Json] = [{"event": "progress"}] if "prompt_progress" in chunk else []
    for choice in chunk["choices"]:
        end["finish"] = choice["finish_reason"] or end["finish"]
        if logprobs := choice.get("logprobs"):
            end["rivals"] = end["rivals"] or logprobs["content"][0]["top_logprobs"]
        if text := choice["delta"].get("content"):
            told.append({"event": "text", "text": text})
    if usage := chunk.get("usage"):
        end.update(inputTokens=usage["prompt_tokens"], outputTokens=usage["completion_tokens"])
    return told


def _refusal(error: Json) -> RefusedError:
    if error.get("type") == "exceed_context_size_error":
        return RefusedError("context", error["message"])
    return RefusedError("refused" if error.get("code") == 400 else "failed", error["message"])


def _load_library() -> Any:
    # The default lets idle threads spin for so long that a busy machine comes to a standstill.
    os.environ["GOMP_SPINCOUNT"] = "20000"
    return importlib.import_module("xllamacpp")


def _load(xllamacpp: Any, path: str, context_tokens: int, threads: int) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = context_tokens
    params.n_parallel = 1 + len(_TEXT_SLOTS)
    params.kv_unified = True
    params.n_batch = _BATCH_TOKENS
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 0
    params.verbosity = 0
    params.api_keys = [secrets.token_hex(32)]
    return xllamacpp.Server(params)


def _stay_below(parent: int) -> None:
    """Give way to everything else on the machine, and end when the parent does."""
    os.nice(_NICENESS)
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write(str(_OOM_SCORE))


def _own_stdout() -> TextIO:
    """Keep stdout for answers: what the library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    return answers


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--context-tokens", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args()
    _stay_below(options.parent)
    answers = _own_stdout()
    lock = threading.Lock()

    def say(answer: Json) -> None:
        with lock:
            answers.write(json.dumps(answer) + "\n")

    try:
        library = _load_library()
        server = _load(library, options.model, options.context_tokens, options.threads)
    except Exception as error:
        say({"event": "error", "kind": "failed", "message": f"the model cannot be loaded: {error}"})
        os._exit(1)
    say({"event": "ready"})
    work = Work(server, library.json_schema_to_grammar, say)
    for line in sys.stdin:
        work.take(json.loads(line))
    os._exit(0)  # the parent is gone; calls at work are not waited for


if __name__ == "__main__":
    main()
