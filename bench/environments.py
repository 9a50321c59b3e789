"""The peers' environments: each in its own folder, installed once from its lock with hashes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FOLDER = ROOT / "bench" / ".venvs"
_LOCKS = ROOT / "bench" / "peers"

FLYBACK = "flyback"
LANGGRAPH = "langgraph"
PYDANTIC_GRAPH = "pydantic-graph"
ENGINES = (FLYBACK, LANGGRAPH, PYDANTIC_GRAPH)


@dataclass(frozen=True, slots=True)
class Environment:
    engine: str
    python: Path
    module: str
    """Where its cases are."""


def environment_of(engine: str) -> Environment:
    """Return an engine's environment, made where it is missing or its lock has changed since."""
    if engine == FLYBACK:
        return Environment(engine, Path(sys.executable), "bench.flyback_cases")
    folder, lock = _FOLDER / engine, _LOCKS / f"requirements-{engine}.lock"
    installed = folder / "installed.lock"
    if not installed.exists() or installed.read_bytes() != lock.read_bytes():
        print(f"Installing {engine} into {folder.relative_to(ROOT)} …", flush=True)
        uv = _uv()
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
        subprocess.run([*install, "--require-hashes", "-r", str(lock)], check=True)
        shutil.copyfile(lock, installed)
    return Environment(engine, folder / "bin" / "python", f"bench.peers.{engine.replace('-', '_')}_cases")


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise SystemExit("uv was not found. `make setup` puts it into .venv.")
    return found
