"""Every case of `acceptance/cases` that can run without a page, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from acceptance.case_runner import checks
from acceptance.case_runner.case import Case, all_cases
from acceptance.case_runner.runner import Stage
from acceptance.case_runner.skills import SkillStage
from acceptance.case_runner.skills import check as check_skills
from kit.server import Server, running_server

_ROOT = Path(__file__).parents[3]
_RUN_HERE = ("dag", "template", "condition", "planner", "llm", "hitl", "sse", "durable", "data", "skill")


_CHECKED_ON_THE_PAGE = (
    ("case-06-template", "variable_list_of_prompt"),
    ("case-14-sse-reconnect", "ui_after_reconnect"),
)
"""What only a browser can see. The journeys hold these checks by their names."""


def _is_checked_here(case: str, check: str) -> bool:
    return (case, check) not in _CHECKED_ON_THE_PAGE


_CASES = [case for case in all_cases() if case.area in _RUN_HERE]


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("cases") / "data") as server:
        yield server


@pytest.fixture
def server(case: Case, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """The server of all cases; one of its own for a case that kills it or looks at what lies around it."""
    steps = {step["do"] for step in case.content["when"]}
    if case.area != "skill" and not steps & {"kill_server", "restart_server"}:
        yield request.getfixturevalue("shared_server")
        return
    with running_server(tmp_path / "data") as own:
        yield own


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_a_behaviour_that_peers_got_wrong_holds_here(case: Case, server: Server) -> None:
    with closing(SkillStage(case, server) if case.area == "skill" else Stage(case, server)) as stage:
        stage.play()
        for wanted in case.content["then"]:
            if not _is_checked_here(case.name, wanted["check"]):
                continue
            if isinstance(stage, SkillStage):
                check_skills(stage, wanted)
            else:
                getattr(checks, wanted["check"])(stage, wanted)


@pytest.mark.parametrize(("case", "check"), _CHECKED_ON_THE_PAGE)
def test_what_only_a_browser_can_see_is_a_journey(case: str, check: str) -> None:
    journeys = [file.read_text() for file in (_ROOT / "web" / "e2e").rglob("*.spec.ts")]
    assert any(f"test('{check}: " in text and case.removeprefix("case-") in text for text in journeys)
