"""The scripted stand-in for an installed Hermes Agent."""

from __future__ import annotations

import sys
from pathlib import Path

FAKE_HERMES = Path(__file__).parent / "fake_hermes"
"""A folder to import it from."""


def python_with_hermes(folder: Path) -> Path:
    """Make what looks like the Python of an environment with a Hermes in it."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{FAKE_HERMES}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return python
