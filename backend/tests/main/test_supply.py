"""What the locks install is written down whole, and an audit that learned nothing does not pass for one that found nothing."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def supply() -> ModuleType:
    spec = importlib.util.spec_from_file_location("supply", ROOT / "backend" / "supply.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_documents_name_each_package_of_the_locks_with_its_version_and_hash(
    supply: ModuleType, tmp_path: Path
) -> None:
    supply.sbom(tmp_path)
    python = json.loads((tmp_path / "python.cdx.json").read_text())
    lock = (ROOT / "backend" / "requirements.lock").read_text()
    pinned = set(re.findall(r"^([\w.-]+)(?:\[.*\])?==([^\s;]+)", lock, re.MULTILINE))
    assert {(one["name"], one["version"]) for one in python["components"]} == pinned
    assert all(reference["hashes"] for one in python["components"] for reference in one["externalReferences"])
    page = json.loads((tmp_path / "page.cdx.json").read_text())
    locked = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    names = {one["name"].rpartition("/")[2] for one in page["components"]}
    assert names == {path.rpartition("/")[2] for path in locked if path}
    assert {python["bomFormat"], page["bomFormat"]} == {"CycloneDX"}


def test_a_weakness_fails_the_audit_and_is_named(supply: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    weak = {"id": "PYSEC-1", "fix_versions": ["1.2"], "aliases": [], "description": "x"}
    pip: dict[str, list[dict[str, Any]]] = {
        "dependencies": [{"name": "a", "version": "1.1", "vulns": [weak]}, {"name": "b", "version": "2", "vulns": []}]
    }
    assert supply.tell("Python", supply.read_pip(json.dumps(pip), ""))
    npm: dict[str, Any] = {
        "vulnerabilities": {"c": {"severity": "high", "range": "<3"}},
        "metadata": {"dependencies": {"total": 9}},
    }
    assert supply.tell("the page", supply.read_npm(json.dumps(npm), ""))
    said = capsys.readouterr().out
    assert "a 1.1: PYSEC-1, mended in 1.2" in said
    assert "c: high, in <3" in said


def test_what_a_service_does_not_know_is_named(supply: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    pip: dict[str, list[dict[str, Any]]] = {
        "dependencies": [{"name": "a", "skip_reason": "not found"}, {"name": "b", "version": "2", "vulns": []}]
    }
    assert not supply.tell("Python", supply.read_pip(json.dumps(pip), ""))
    assert "not known to the service: a\n" in capsys.readouterr().out


@pytest.mark.parametrize("reader", ["read_pip", "read_npm"])
@pytest.mark.parametrize("answer", ["", "<html>", '{"message": "405 Method Not Allowed"}', "[]", "null"])
def test_no_answer_is_told_as_skipped(
    supply: ModuleType, capsys: pytest.CaptureFixture[str], reader: str, answer: str
) -> None:
    found = getattr(supply, reader)(answer, "trace\nConnectionError: no route\n")
    assert not supply.tell("it", found)
    assert (
        "SKIPPED, nothing was checked. No advisory service answered: ConnectionError: no route"
        in capsys.readouterr().out
    )


def test_a_weakness_that_was_found_fails_although_not_everything_could_be_asked(
    supply: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert supply.tell("it", supply.Found(["old 1.0: CVE-1"], why_not="no route"))
    told = capsys.readouterr().out
    assert "audit of it: old 1.0: CVE-1" in told
    assert "SKIPPED, the rest was not checked. No advisory service answered: no route" in told
