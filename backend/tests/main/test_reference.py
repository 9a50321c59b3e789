"""The generated pages of the reference are those of this code."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from flyback.main.reference import SETTINGS, pages

_ROOT = Path(__file__).parents[3]
_REFERENCE = _ROOT / "docs" / "reference"
_VARIABLE = re.compile(r"\bFLYBACK_[A-Z_]+\b")
_OF_TESTS = {"FLYBACK_TEST_POSTGRES", "FLYBACK_TEST_MODELS", "FLYBACK_DEV_SERVER"}


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_reference_says_what_the_code_says(name: str) -> None:
    assert (_REFERENCE / name).read_text() == pages()[name](), "write it again with: make reference"


def test_every_setting_of_the_code_is_in_the_reference() -> None:
    sources = [path.read_text() for path in (_ROOT / "backend" / "src").rglob("*.py")]
    used = {name for source in sources for name in _VARIABLE.findall(source)}
    assert used - _OF_TESTS <= set(SETTINGS)


def test_the_commands_of_the_readme_exist() -> None:
    readme = (_ROOT / "README.md").read_text()
    makefile = (_ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", readme, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    commands = (_REFERENCE / "command-line.md").read_text()
    for command in re.findall(r"`flyback ([a-z][a-z-]*)", readme):
        assert f"`flyback {command}" in commands, command
    for link in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert os.path.exists(_ROOT / link), link
