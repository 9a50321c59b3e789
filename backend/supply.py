"""What the locks install: `sbom` writes it down as CycloneDX, `audit` asks whether any of it has a known weakness.

An audit needs the advisory services of both registries. Where one does not answer, or only pretends to (a mirror that has
the packages and no advisories), nothing is known: that is said, and is neither a failure nor a pass. A service is believed
when it knows the weakness of a package that has one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = tuple(ROOT / "backend" / f"requirements{kind}.lock" for kind in ("-build", "", "-dev"))
OUT = ROOT / "dist" / "sbom"
_BIN = Path(sys.executable).parent
_KNOWN_WEAK = "requests==2.19.0"
_SECONDS = "15"


@dataclass(frozen=True, slots=True)
class Found:
    """What an advisory service said."""

    weak: Sequence[str] = ()
    """A line for each weakness."""
    unknown: Sequence[str] = ()
    """Packages that it could say nothing of."""
    why_not: str = ""
    """Why it gave no answer at all."""
    asked: int = 0


def read_pip(text: str, said: str) -> Found:
    """Read the JSON of pip-audit. `said` is what it wrote beside it."""
    try:
        listed = json.loads(text)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Found(why_not=_last_line(said))
    weak = [
        f"{one['name']} {one['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version yet'}"
        for one in listed
        for found in one.get("vulns", ())
    ]
    return Found(weak, [one["name"] for one in listed if "skip_reason" in one], asked=len(listed))


def read_npm(text: str, said: str) -> Found:
    """Read the JSON of `npm audit`."""
    try:
        report = json.loads(text)
        weak = [f"{name}: {one['severity']}, in {one['range']}" for name, one in report["vulnerabilities"].items()]
        return Found(weak, asked=report["metadata"]["dependencies"]["total"])
    except (ValueError, KeyError, TypeError):
        return Found(why_not=_last_line(said))


def tell(what: str, found: Found) -> bool:
    """Print what was found; return whether it is a failure."""
    for line in found.weak:
        print(f"audit of {what}: {line}")
    if found.why_not:
        checked = "the rest was not checked" if found.weak else "nothing was checked"
        print(f"audit of {what}: SKIPPED, {checked}. No advisory service answered: {found.why_not}")
        return bool(found.weak)
    if found.unknown:
        print(f"audit of {what}: not known to the service: {', '.join(found.unknown)}")
    print(f"audit of {what}: {len(found.weak)} known weaknesses in {found.asked - len(found.unknown)} packages")
    return bool(found.weak)


def audit() -> int:
    failures = [tell("Python", _audit_python()), tell("the page", _audit_page())]
    return int(any(failures))


def sbom(out: Path = OUT) -> int:
    out.mkdir(parents=True, exist_ok=True)
    project = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible"]
    python = ["cyclonedx-py", "requirements", str(ROOT / "backend" / "requirements.lock"), *project]
    page = ["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]
    for name, command, folder in (("python", python, ROOT), ("page", page, ROOT / "web")):
        file = out / f"{name}.cdx.json"
        file.write_text(_run(command, folder, check=True).stdout)
        print(f"{file}: {len(json.loads(file.read_text())['components'])} components")
    return 0


def _audit_python() -> Found:
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder, "known.txt")
        known.write_text(_KNOWN_WEAK + "\n")
        canary = _pip_audit(["--no-deps", "-r", str(known)])
        if not canary.weak:
            return Found(why_not=canary.why_not or f"it knows nothing of {_KNOWN_WEAK}, which is weak")
    each = [_pip_audit(["--require-hashes", "-r", str(lock)]) for lock in LOCKS]
    why_not = next((one.why_not for one in each if one.why_not), "")
    weak = dict.fromkeys(line for one in each for line in one.weak)
    unknown = dict.fromkeys(name for one in each for name in one.unknown)
    return Found([*weak], [*unknown], why_not, max(one.asked for one in each))


def _pip_audit(arguments: Sequence[str]) -> Found:
    always = ["--disable-pip", "--progress-spinner", "off", "--format", "json", "--timeout", _SECONDS]
    done = _run(["pip-audit", *always, *arguments], ROOT)
    return read_pip(done.stdout, done.stderr)


def _audit_page() -> Found:
    patience = ["--fetch-retries=0", f"--fetch-timeout={_SECONDS}000"]
    done = _run(["npm", "audit", "--json", "--package-lock-only", *patience], ROOT / "web")
    return read_npm(done.stdout, done.stderr)


def _run(command: Sequence[str], folder: Path, *, check: bool = False) -> subprocess.CompletedProcess[str]:
    program = _BIN / command[0]
    whole = [str(program) if program.exists() else command[0], *command[1:]]
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    return subprocess.run(whole, cwd=folder, env=quiet, text=True, capture_output=True, check=check)


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "log of this run" not in line), "it said nothing")[:300]


if __name__ == "__main__":
    sys.exit({"audit": audit, "sbom": sbom}[sys.argv[1]]())
