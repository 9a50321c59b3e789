"""`python -m evaluation`: put every case to the embedded models and write `report.md` and `report.json`.

A run with the standard model takes several minutes; the report is written after every answer, and `--go-on` keeps what it
holds already. `--least` makes the exit status tell whether the standard model
reaches what is promised of it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from evaluation.bench import Bench
from evaluation.cases import ConditionCase, PlannerCase, condition_cases, planner_cases
from evaluation.report import Result, least_is_reached, read_results, write_report
from flyback.providers.embedded.model_file import checked_file
from flyback.providers.embedded.pull import fetch
from flyback.providers.embedded.releases import release

_DEFAULT_FOLDER = Path.home() / ".cache" / "flyback" / "models"


async def _put(name: str, folder: Path, only: str, results: list[Result]) -> None:
    """Put the cases to one model, but those that it has answered."""
    wanted = release(name)
    await fetch(wanted, folder)
    bench = Bench(lambda: checked_file(wanted, folder))
    answered = {(result.task, result.case) for result in results if result.model == name}
    try:
        for case in [*planner_cases(), *condition_cases()]:
            task = "planner" if isinstance(case, PlannerCase) else "condition"
            if only not in ("all", task) or (task, case.id) in answered:
                continue
            results.append(await _ask(bench, name, task, case))
            write_report(results)
    finally:
        await bench.close()


async def _ask(bench: Bench, model: str, task: str, case: PlannerCase | ConditionCase) -> Result:
    if isinstance(case, PlannerCase):
        answer = await bench.plan(case)
        expected = " or ".join(case.expected)
    else:
        answer = await bench.branch(case)
        expected = f"branch-{case.expected}"
    mark = "right" if answer.right else "WRONG"
    print(
        f"{model} {task} {case.id}: {mark}, {answer.chosen} after {answer.seconds:.1f} s. {answer.detail}", flush=True
    )
    return Result(
        model=model,
        task=task,
        case=case.id,
        kind=case.kind,
        language=case.language,
        held_out=case.held_out,
        expected=expected,
        chosen=answer.chosen,
        right=answer.right,
        seconds=round(answer.seconds, 2),
        detail=answer.detail,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description="Evaluate the embedded models.")
    parser.add_argument("--model", action="append", choices=["standard", "small"], help="default: both")
    parser.add_argument("--only", choices=["all", "planner", "condition"], default="all")
    parser.add_argument("--folder", type=Path, default=_DEFAULT_FOLDER, help="where the model files are")
    parser.add_argument("--least", action="store_true", help="fail where the standard model is below what is promised")
    parser.add_argument("--go-on", action="store_true", help="keep the answers of the last report")
    options = parser.parse_args()
    results = read_results() if options.go_on else []
    for name in options.model or ["standard", "small"]:
        asyncio.run(_put(name, options.folder, options.only, results))
    if options.least and not least_is_reached(results):
        print("the standard model is below what is promised of it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
