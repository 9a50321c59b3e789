"""Which Hermes there is: the Python of an environment that the operator installed it into, and what it may do.

Hermes is no dependency of ours, and its pins could not be met beside ours. It takes most of its tools for safe where nobody
sits before it, so that none is given to it but those that the operator names.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flyback.domain.errors import InvalidError

PYTHON_SETTING = "HERMES_PYTHON"
HOME_SETTING = "HERMES_HOME"
TOOLS_SETTING = "FLYBACK_HERMES_TOOLSETS"
HARMLESS = ("todo",)
"""Tool sets that reach nothing: always given."""
TRIED_VERSION = "0.19"

_LOG_FILE = "hermes.log"
_NAME = re.compile(r"[a-z0-9_-]{1,64}")
_LOOK_SECONDS = 20
_VERSION = "import importlib.metadata as m; print(m.version('hermes-agent'))"


@dataclass(frozen=True, slots=True)
class HermesInstall:
    python: Path
    log_file: Path
    granted: Sequence[str] = ()
    """Tool sets of Hermes that the operator lets agents use."""
    home: Path | None = None
    """A folder with Hermes' own configuration; None gives it an empty one each time."""
    more_environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(cls, environment: Mapping[str, str], data: Path) -> HermesInstall | None:
        """Return what the operator has set, None where that is nothing. Raises InvalidError."""
        python = environment.get(PYTHON_SETTING, "").strip()
        if not python:
            return None
        home = environment.get(HOME_SETTING, "").strip()
        granted = [name for name in re.split(r"[\s,]+", environment.get(TOOLS_SETTING, "")) if name]
        for name in granted:
            if not _NAME.fullmatch(name) or name == "all":
                fix = f'Name tool sets of Hermes: {TOOLS_SETTING}="web, file".'
                raise InvalidError(f"{name!r} is no tool set that can be granted.", field=TOOLS_SETTING, fix=fix)
        return cls(Path(python), data / _LOG_FILE, granted, Path(home) if home else None)

    @property
    def toolsets(self) -> Sequence[str]:
        return tuple(dict.fromkeys((*HARMLESS, *self.granted)))

    def command(self, program: Path) -> list[str]:
        """How a program is run by that Python, without the program's own folder among its modules."""
        return [str(self.python), "-P", str(program)]

    def version(self) -> str:
        """Return the version of Hermes that is installed there. Raises OSError, ValueError: there is none."""
        ran = subprocess.run(  # noqa: S603 -- the operator named it
            [str(self.python), "-P", "-c", _VERSION],
            capture_output=True,
            text=True,
            timeout=_LOOK_SECONDS,
            check=False,
            env=dict(self.more_environment),
        )
        if ran.returncode != 0:
            raise ValueError((ran.stderr.strip().splitlines() or ["it ended with an error"])[-1])
        return ran.stdout.strip()
