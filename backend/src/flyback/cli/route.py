"""Draws a run's route in the terminal while it happens, from its event stream.

The same events make the same lines whether the run is driven here, by a server, or was driven long ago: where each visit
came from stands before its name, and the planner's reason between two visits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.text import Text

from flyback.cli.plain import all_visible, visible
from flyback.domain.template import as_text

WireEvent = Mapping[str, Any]
"""One event as it stands on the wire: `{runId, type, seq, timestamp, data}`."""

_MARKS = {
    "SUCCESS": ("✓", "green"),
    "FAILED": ("✗", "red"),
    "SKIPPED": ("–", "dim"),
    "CANCELLED": ("□", "dim"),
    "PAUSED": ("‖", "yellow"),
}
_ITER_STYLES = {1: "dim", 2: "dark_orange"}


@dataclass
class RoutePrinter:
    """Prints one line or two for each event that tells something. `labels`: node id to label."""

    console: Console
    labels: Mapping[str, str]
    _visits: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def show(self, event: WireEvent) -> None:
        data: Any = all_visible(event["data"]) if self.console.is_terminal else event["data"]
        match event["type"]:
            case "run_started":
                self._started(event["runId"], data)
            case "node_status" if "visitId" in data:
                self._visit_status(data)
            case "node_status":
                self._node_status(data)
            case "visit_recorded":
                self._visit_recorded(data)
            case "node_retry":
                waits = data["waitMs"] / 1000
                self._line(
                    f"attempt {data['attempt']} failed: {data['error']['message']} Next in {waits:.1f} s.", "yellow"
                )
            case "planner_decision":
                self._decision(data)
            case "tool_call":
                again = " again" if data.get("recovered") else ""
                self._line(f"calls {data['name']}{again}", "dim")
            case "tool_result" if data.get("error"):
                self._line(f"{data['name']}: {data['error']['message']}", "dim")
            case "sub_run" if data["status"] in _MARKS:
                mark, style = _MARKS[data["status"]]
                which = f" {data['index'] + 1} of {data['count']}  run {data['subRunId'][:8]}"
                self.console.print(Text.assemble("      ", (mark, style), (which, "dim")))
            case "clarify_request":
                for question in data["questions"]:
                    self._line(f"asks: {question['text']}", "yellow")
            case "workflow_complete":
                self._complete(data)
            case "workflow_error":
                path = " → ".join(self._label(node_id) for node_id in data.get("path", ()))
                self.console.print(Text(f"FAILED {data['code']}: {data['message']}", style="bold red"))
                self.console.print(Text(f"  path: {path}", style="dim"))
            case "clarify_answered":
                said = ", ".join(str(answer["value"]) for answer in data["answers"])
                self._line(f"{data['by']}: {said or data['action']}", "yellow")
            case "pause_expired":
                self._line("nobody answered in time", "yellow")
            case "run_cancelled":
                self.console.print(Text(f"CANCELLED by {data['by']}", style="bold"))
            case _:
                pass

    def _started(self, run_id: str, data: Mapping[str, Any]) -> None:
        forked = f"  forked from {data['parentRunId']}" if "forkedFromVisit" in data else ""
        more = f"  {data['mode']}  model {data['defaultModel']}{forked}"
        self.console.print(Text.assemble(("run ", "dim"), run_id, (more, "dim")))

    def _visit_status(self, data: Mapping[str, Any]) -> None:
        if data["status"] != "RUNNING":
            return
        if data["visitId"] in self._visits and not data.get("recovered"):
            return  # it goes on with an answer
        self._visits[data["visitId"]] = data
        line = Text(f"{data['sortOrder'] + 1:>3} ")
        line.append_text(self._badge(data))
        line.append(self._label(data["nodeId"]), style="bold")
        iteration = data["iterSeq"]
        line.append(f"  iter {iteration}", style=_ITER_STYLES.get(iteration, "red"))
        if data.get("recovered"):
            line.append("  recovered", style="yellow")
        if data.get("shared"):
            line.append("  shared", style="dim")
        self.console.print(line)

    def _badge(self, data: Mapping[str, Any]) -> Text:
        origin = self._visits.get(data.get("fromVisitId") or "")
        if data.get("fromNodeId") is None:
            return Text("start ", style="dim")
        came_from = f"⬅ from {self._label(data['fromNodeId'])}#{origin['iterSeq'] if origin else '?'}"
        if not data["onCanvas"]:
            return Text.assemble((f" {came_from} ", "reverse blue"), " ")
        return Text.assemble((came_from, "blue" if data["isFlyBack"] else "dim"), " ")

    def _visit_recorded(self, data: Mapping[str, Any]) -> None:
        mark, style = _MARKS.get(data["status"], ("·", "dim"))
        changed = data.get("changed", {})
        parts = [f"+{name}" for name in changed.get("added", ())] + [
            f"↻{name}" for name in changed.get("overwritten", ())
        ]
        parts += [f"✎{name}" for name in data.get("edited", ())]
        usage: Mapping[str, Any] = data.get("usage") or {}
        tokens = usage.get("inputTokens", 0) + usage.get("outputTokens", 0)
        if tokens:
            parts.append(f"{tokens} tokens")
        self.console.print(Text.assemble("      ", (mark, style), " ", ("  ".join(parts), "dim")))
        self._error(data.get("error"))

    def _node_status(self, data: Mapping[str, Any]) -> None:
        if data["status"] == "RUNNING":
            return
        mark, style = _MARKS.get(data["status"], ("·", "dim"))
        self.console.print(Text.assemble("  ", (mark, style), " ", (self._label(data["nodeId"]), "bold")))
        self._error(data.get("error"))

    def _error(self, error: Mapping[str, Any] | None) -> None:
        if error is None:
            return
        self._line(f"{error['code']}: {error['message']}", "red")
        if error.get("fix"):
            self._line(error["fix"], "dim")

    def _decision(self, data: Mapping[str, Any]) -> None:
        who = "planner" if data["source"] in ("planner", "only_choice") else data["source"]
        line = Text.assemble("      ", (f"{who} → ", "dim"), self._label(data["next"]))
        if not data["onCanvas"]:
            line.append("  off the drawing", style="blue")
        self.console.print(line)
        if data["reason"]:
            self._line(data["reason"], "italic")

    def _complete(self, data: Mapping[str, Any]) -> None:
        self.console.print(Text(f"SUCCESS  {data['durationMs'] / 1000:.1f} s", style="bold green"))
        for output in data["outputs"]:
            # As it is: lines are not broken, and no `:name:` becomes a picture.
            self.console.print(Text(as_text(output["result"])), soft_wrap=True)

    def _line(self, text: str, style: str) -> None:
        self.console.print(Text(f"        {text}", style=style))

    def _label(self, node_id: str) -> str:
        return visible(self.labels.get(node_id, node_id))
