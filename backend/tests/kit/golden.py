"""Golden files: whole shapes, compared with what a human has read and approved.

`pytest --update-golden` rewrites them; the diff is then for a human to read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent / "golden"


class Golden:
    def __init__(self, *, update: bool) -> None:
        self._update = update

    def check(self, name: str, text: str) -> None:
        """Compare a text with the golden file of this name, a path below `golden/`."""
        path = GOLDEN / name
        whole = text if text.endswith("\n") else text + "\n"
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(whole, encoding="utf-8", newline="\n")
            return
        assert path.exists(), f"there is no golden file {name!r}: run pytest --update-golden and read what it wrote"
        assert whole == path.read_text(encoding="utf-8"), (
            f"{name!r} differs: see the diff, or run pytest --update-golden"
        )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(update=bool(request.config.getoption("--update-golden")))


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")
