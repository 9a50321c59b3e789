"""What came of an evaluation: every answer as JSON, and the shares of right ones as a page."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_LEAST = {"planner": 0.70, "condition": 0.85}
"""What the standard model is promised to reach."""


@dataclass(frozen=True, slots=True)
class Result:
    model: str
    task: str
    """`planner` or `condition`."""
    case: str
    kind: str
    language: str
    held_out: bool
    """Whether prompts were never tuned on it."""
    expected: str
    chosen: str
    right: bool
    seconds: float
    detail: str


def least_is_reached(results: Sequence[Result]) -> bool:
    return all(
        _share(answers) >= least
        for task, least in _LEAST.items()
        if (answers := [result for result in results if result.model == "standard" and result.task == task])
    )


def read_results() -> list[Result]:
    """Return the answers that the last report holds."""
    path = _HERE / "report.json"
    return [Result(**answer) for answer in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def write_report(results: Sequence[Result]) -> None:
    """Write `report.json` and `report.md` beside the cases."""
    answers = json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1)
    (_HERE / "report.json").write_text(answers + "\n", encoding="utf-8")
    (_HERE / "report.md").write_text("\n".join(_page(results)) + "\n", encoding="utf-8")


def _page(results: Sequence[Result]) -> Iterable[str]:
    yield "# How well the embedded model decides"
    yield ""
    yield "Made by `python -m evaluation` from the cases in this folder. Cases that are held out were written after the"
    yield "prompts and rules had been tuned on the others. A planner's latency counts the decision and its reason."
    yield f"Machine: {platform.machine()}, {platform.system()}, Python {platform.python_version()}; other work ran beside it."
    for task in ("planner", "condition"):
        found = [result for result in results if result.task == task]
        if found:
            yield from _section(task, found)
    yield from _wrong(results)


def _section(task: str, results: Sequence[Result]) -> Iterable[str]:
    models = list(dict.fromkeys(result.model for result in results))
    yield ""
    yield f"## {task.capitalize()}"
    yield ""
    yield "| | " + " | ".join(models) + " |"
    yield "|---|" + "---|" * len(models)
    rows: list[tuple[str, Callable[[Result], bool]]] = [
        ("all", lambda _: True),
        ("tuned on", lambda result: not result.held_out),
        ("held out", lambda result: result.held_out),
    ]
    rows += [(name, _is_language(name)) for name in sorted({result.language for result in results})]
    rows += [(name, _is_kind(name)) for name in dict.fromkeys(result.kind for result in results)]
    for name, belongs in rows:
        cells = [_cell([r for r in results if r.model == model and belongs(r)]) for model in models]
        yield f"| {name} | " + " | ".join(cells) + " |"
    latencies = [_latency([r for r in results if r.model == model]) for model in models]
    yield "| seconds, median and longest | " + " | ".join(latencies) + " |"


def _is_language(name: str) -> Callable[[Result], bool]:
    return lambda result: result.language == name


def _is_kind(name: str) -> Callable[[Result], bool]:
    return lambda result: result.kind == name


def _cell(results: Sequence[Result]) -> str:
    right = sum(result.right for result in results)
    return f"{right} of {len(results)} ({_share(results):.0%})" if results else "–"


def _share(results: Sequence[Result]) -> float:
    return sum(result.right for result in results) / len(results)


def _latency(results: Sequence[Result]) -> str:
    seconds = [result.seconds for result in results]
    return f"{statistics.median(seconds):.1f}, {max(seconds):.1f}" if seconds else "–"


def _wrong(results: Sequence[Result]) -> Iterable[str]:
    yield ""
    yield "## Wrong answers"
    yield ""
    for result in results:
        if not result.right:
            yield f"- {result.model}, {result.task} `{result.case}`: chose `{result.chosen}`, right was `{result.expected}`"
