"""The small model, as the tests of this folder need it. It is fetched where it is not there: these tests are never skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flyback.providers.embedded.model_file import checked_file, is_here
from flyback.providers.embedded.releases import release

_FETCH = """
import sys
from pathlib import Path
from flyback.providers.embedded.pull import pull
from flyback.providers.embedded.releases import release
pull(release("small"), Path(sys.argv[1]))
"""


@pytest.fixture(scope="session")
def small_model() -> Path:
    named = os.environ.get("FLYBACK_TEST_MODELS")
    folder = Path(named) if named else Path.home() / ".cache" / "flyback" / "models"
    small = release("small")
    if not is_here(small, folder):
        subprocess.run([sys.executable, "-c", _FETCH, str(folder)], check=True)
    return checked_file(small, folder)
