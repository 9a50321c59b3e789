"""What the guides and the page on security say is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_GUIDES = _ROOT / "docs" / "guides"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_what_is_said_to_be_tried_against_it_is_there() -> None:
    said = re.findall(r"`((?:backend/tests|web/e2e)/[^`]+)`", (_ROOT / "docs" / "security.md").read_text())
    assert said
    assert [path for path in said if not (_ROOT / path).is_file()] == []


def test_the_node_type_of_the_guide_runs_and_passes_its_test(tmp_path: Path) -> None:
    # In a process of its own: a registered type cannot be taken back.
    module, test = _BLOCK.findall((_GUIDES / "add-a-node-type.md").read_text())
    run = "import asyncio\nasyncio.run(test_a_shout_says_its_text_in_capitals())\nprint('passed')\n"
    program = tmp_path / "guide.py"
    program.write_text(module + "\n" + test.replace("from __future__ import annotations\n", "") + "\n" + run)
    ran = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(_ROOT / "backend" / "tests"), "PATH": ""},
    )
    assert ran.stdout == "passed\n", ran.stderr
