"""Reads a case, and writes what it asks for in the product's own words."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "cases"
_FAKE = "fake"


@dataclass(frozen=True)
class Case:
    name: str
    content: dict[str, Any]

    @property
    def area(self) -> str:
        return self.content["kind"].partition(".")[0]

    @property
    def given(self) -> dict[str, Any]:
        return self.content["given"]


@dataclass(frozen=True)
class Variant:
    """One run that a case asks for."""

    name: str
    document: dict[str, Any]
    inputs: dict[str, Any]


def all_cases() -> list[Case]:
    return [Case(file.stem, json.loads(file.read_text())) for file in sorted(FOLDER.glob("case-*.json"))]


def variants(case: Case) -> Iterator[Variant]:
    """Every run that a case asks for: one each of its `runs`, `forms`, `graphs`, or as often as `repeat` says."""
    given = case.given
    if "graphs" in given:
        for name, graph in given["graphs"].items():
            yield _variant(case, name, graph, [])
    elif "forms" in given:
        for form in given["forms"]:
            yield _variant(case, form, given["graphData"], _with_form(given, form))
    elif "runs" in given:
        for run in given["runs"]:
            graph = _patched(given["graphData"], run.get("patch_node"))
            yield _variant(case, run["name"], graph, run.get("model", given.get("model", [])))
    else:
        for number in range(given.get("repeat", 1)):
            yield _variant(case, f"run {number + 1}", given["graphData"], given["model"])


def _variant(case: Case, name: str, graph: dict[str, Any], model: list[dict[str, Any]]) -> Variant:
    graph = copy.deepcopy(graph)
    for node in graph["nodes"]:
        if node["data"].get("model") == _FAKE:
            node["data"]["model"] = "scripted"
        if (seconds := case.given.get("settings", {}).get("node_timeout_s")) is not None:
            node["data"]["timeoutSeconds"] = seconds
    document = {"name": case.name, "mode": case.given["mode"], "graphData": graph, "script": script(model)}
    return Variant(name, document, case.given.get("inputs", {}))


def script(model: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a case's scripted model as our script."""
    parts: list[dict[str, Any]] = []
    for entry in model:
        part: dict[str, Any] = {"for": entry["for"], "replies": [_reply(reply) for reply in entry["replies"]]}
        if entry.get("repeat_last"):
            part["repeatLast"] = True
        parts.append(part)
    return parts


def _reply(reply: dict[str, Any]) -> dict[str, Any]:
    ours: dict[str, Any] = {}
    if "delay_ms" in reply:
        ours["delayMs"] = reply["delay_ms"]
    if "finish_reason" in reply:
        ours["finishReason"] = reply["finish_reason"]
    if "stream_bytes" in reply:
        return ours | {"stream": list(reply["text"])}
    for theirs, name in (
        ("text", "text"),
        ("text_escaped", "textEscaped"),
        ("decide", "branch"),
        ("next", "next"),
        ("reason", "reason"),
        ("tool", "tool"),
        ("echo_last_answer", "echoLastAnswer"),
        ("http_error", "httpError"),
        ("hang", "hang"),
        ("stream", "stream"),
        ("every_ms", "everyMs"),
    ):
        if theirs in reply:
            ours[name] = reply[theirs]
    if "text_repeat" in reply:
        piece, times = reply["text_repeat"]
        ours["text"] = piece * times + reply.get("then", "")
    return ours


def _with_form(given: dict[str, Any], form: str) -> list[dict[str, Any]]:
    decision = {"branch": given["decision"], "reason": "because"}
    whole = json.dumps(decision)
    text = (
        form.replace("{D_TRAILING_COMMA}", whole[:-1] + ",}")
        .replace("{D_SINGLE_QUOTES}", whole.replace('"', "'"))
        .replace("{D}", whole)
    )
    model = copy.deepcopy(given["model"])
    for entry in model:
        entry["replies"] = [{"text": text} if "text_form" in reply else reply for reply in entry["replies"]]
    return model


def _patched(graph: dict[str, Any], patch: dict[str, Any] | None) -> dict[str, Any]:
    graph = copy.deepcopy(graph)
    for node in graph["nodes"]:
        if patch is not None and node["id"] == patch["id"]:
            node |= patch
    return graph
