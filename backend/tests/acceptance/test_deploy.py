"""What is deployed fits the program: commands, options, settings, paths and files are ones that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from configparser import RawConfigParser
from pathlib import Path
from typing import Any, cast

import click
import pytest
import typer.main
import yaml

from flyback.api.openapi import describe
from flyback.cli.app import build
from flyback.main.reference import SETTINGS
from flyback.storage.secret_box import SecretBox

_ROOT = Path(__file__).parents[3]
_DEPLOY = _ROOT / "deploy"
_COMPOSE = cast("dict[str, Any]", yaml.safe_load((_DEPLOY / "compose.yaml").read_text()))
_OURS = {name: service for name, service in _COMPOSE["services"].items() if service.get("image") == "flyback"}


def _assert_is_command(words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Parse a command as the program does. Raises click.UsageError for what it does not know."""
    root = cast("click.Group", typer.main.get_command(build()))
    command = root.commands[words[0]]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        command.make_context(words[0], list(words[1:]))


def _assert_are_settings(names: Sequence[str]) -> None:
    assert {name for name in names if name.startswith("FLYBACK_")} <= SETTINGS.keys()


@pytest.mark.parametrize("name", _OURS)
def test_a_service_of_the_compose_file_runs_a_command_with_settings_that_there_are(name: str) -> None:
    service = _OURS[name]
    _assert_is_command(service["command"], service["environment"])
    _assert_are_settings(list(service["environment"]))
    assert service["stop_grace_period"] == "45s"


def test_the_health_of_the_server_is_asked_where_it_is_told() -> None:
    check = " ".join(_OURS["server"]["healthcheck"]["test"])
    assert "/readyz" in check
    assert '"/readyz"' in describe()


def test_what_the_compose_file_asks_for_stands_in_the_example_and_a_key_made_so_is_a_key(tmp_path: Path) -> None:
    example = (_DEPLOY / "compose.env.example").read_text()
    needed = set(re.findall(r"\$\{(\w+):\?", (_DEPLOY / "compose.yaml").read_text()))
    assert needed <= set(re.findall(r"^(\w+)=", example, re.MULTILINE))
    program = re.search(r'python3 -c "(.+)"', example)
    assert program is not None
    made: list[str] = []
    exec(program[1], {"print": made.append})  # noqa: S102 -- our own line, as people are told to run it
    assert SecretBox.open(tmp_path, key_text=made[0]).key_id is not None


@pytest.mark.parametrize("name", ["flyback.service", "flyback-worker@.service"])
def test_a_unit_of_systemd_starts_a_command_that_there_is_and_gives_it_time_to_stop(name: str) -> None:
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] -- systemd's names have capitals
    unit.read_string((_DEPLOY / name).read_text())
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    environment = dict(setting.split("=", 1) for setting in shlex.split(service["Environment"]))
    assert program.endswith("/.venv/bin/flyback")
    _assert_is_command(words, {**environment, "FLYBACK_DATABASE_URL": "postgresql://flyback@database/flyback"})
    _assert_are_settings(list(environment))
    assert (service["KillSignal"], int(service["TimeoutStopSec"])) == ("SIGTERM", 45)
    assert (_ROOT / unit["Unit"]["Documentation"].removeprefix("file:///opt/flyback/")).is_file()


def test_the_image_is_made_of_files_that_there_are() -> None:
    lines = (_DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    assert all((_ROOT / source).exists() for sources in copied for source in sources)
    (entry,) = [line for line in lines if line.startswith("CMD ")]
    _assert_is_command(yaml.safe_load(entry.removeprefix("CMD ")), {})


def test_every_setting_that_the_page_on_operating_names_is_one() -> None:
    page = (_ROOT / "docs" / "operate.md").read_text()
    _assert_are_settings(re.findall(r"FLYBACK_[A-Z_]+", page))


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"^flyback (.+)$", (_ROOT / "docs" / "operate.md").read_text(), re.MULTILINE)))
)
def test_every_command_that_the_page_on_operating_shows_is_one(command: str) -> None:
    words = shlex.split(command, comments=True)
    _assert_is_command(words, {"FLYBACK_DATABASE_URL": "postgresql://flyback@database/flyback"})
