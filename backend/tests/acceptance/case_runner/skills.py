"""The cases about skills: what is uploaded or lies in the folder, and what must hold of it."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path
from typing import Any

import httpx

from acceptance.case_runner.case import Case
from kit.server import Server

_SKILL_MD = "---\nname: {name}\ndescription: d\n---\nbody\n"
_HERE = {"x": 0, "y": 0}
_LARGE_BYTES = 250 * 1024 * 1024
"""Unpacked: beyond what is allowed, and still quick to make."""


class SkillStage:
    def __init__(self, case: Case, server: Server) -> None:
        self.case = case
        self.server = server
        self.client = server.client()
        self.uploads: dict[str, httpx.Response] = {}
        self.folder = server.data / "skills"
        self.before: dict[str, bytes] = {}
        self.reads: dict[str, bool] = {}
        """Path to whether an agent was given the file."""

    def play(self) -> None:
        for step in self.case.content["when"]:
            match step["do"]:
                case "upload_skill":
                    self._upload_all()
                case "reload_skills":
                    self._lay_down()
                case "save_skill_unchanged_from_the_editor":
                    self._save_unchanged()
                case "agent_reads_file":
                    self._let_agent_read()
                case _:
                    pass  # listing is what the checks do

    def close(self) -> None:
        self.client.close()

    def listed(self) -> dict[str, dict[str, Any]]:
        return {skill["id"]: skill for skill in self.client.get("/skills").json()["items"]}

    def read(self, skill_id: str) -> httpx.Response:
        return self.client.get(f"/skills/{httpx.URL('/' + skill_id).raw_path.decode().lstrip('/')}")

    def files(self) -> set[str]:
        """Every file of the data folder's surroundings, so that a climbing path would be seen."""
        root = self.server.data.parent
        return {
            str(path.relative_to(root)) for path in root.rglob("*") if "evil" in path.name or "outside" in path.name
        }

    def _upload_all(self) -> None:
        for archive in self.case.given["archives"]:
            before = _tree(self.folder)
            files = {"file": (f"{archive['name']}.zip", _packed(archive), "application/zip")}
            if "skill_md" in archive:
                files = {"file": ("SKILL.md", archive["skill_md"].encode(), "text/markdown")}
            answer = self.client.post("/skills/upload", files=files)
            self.uploads[archive["name"]] = answer
            if answer.status_code >= 400:
                assert _tree(self.folder) == before, f"{archive['name']} left something behind"

    def _let_agent_read(self) -> None:
        """Run an agent on the skill `good` that asks for each file in turn, and keep what its tool answered."""
        (self.folder / "other-skill").mkdir()
        (self.folder / "other-skill" / "SKILL.md").write_text(_SKILL_MD.format(name="other-skill"))
        (self.folder / "good" / "references" / "x.md").symlink_to("/etc/hostname")
        paths = [path.partition(" ")[0] for path in self.case.given["agent_file_requests"]]
        replies: list[dict[str, Any]] = [{"tool": {"name": "read_file", "args": {"path": path}}} for path in paths]
        agent = {"id": "agent", "type": "agent", "position": _HERE, "data": {"agentId": "good", "task": "Read."}}
        out = {"id": "out", "type": "output", "position": _HERE, "data": {"outputType": "text"}}
        edge = {"id": "e", "source": "agent", "target": "out", "sourceHandle": "output"}
        script = [{"for": {"node": "agent"}, "replies": [*replies, {"text": "done"}]}]
        graph = {"nodes": [agent, out], "edges": [edge]}
        document = {"name": "reads", "mode": "DAG", "graphData": graph, "script": script}
        run = self.client.post("/runs?wait=true", json={"workflow": document, "model": "scripted", "inputs": {}}).json()
        assert run["status"] == "SUCCESS", run
        calls = self.client.get(f"/runs/{run['runId']}/nodes/agent/calls").json()["items"]
        self.reads = {call["request"]["path"]: call["error"] is None for call in calls if call["kind"] == "tool"}
        assert list(self.reads) == paths

    def _lay_down(self) -> None:
        for skill in self.case.given["skills_bytes"]:
            content = skill["text"]
            if skill.get("line_end") == "CRLF":
                content = content.replace("\n", "\r\n")
            raw = bytes.fromhex(skill.get("prefix", "")) + content.encode(skill.get("encoding", "utf-8"))
            folder = self.folder / skill["folder"]
            folder.mkdir(parents=True)
            (folder / skill.get("file", "SKILL.md")).write_bytes(raw)
            self.before[skill["folder"]] = raw

    def _save_unchanged(self) -> None:
        for skill_id in self.before:
            read = self.read(skill_id)
            if read.json()["source"] is not None and not read.json()["problems"]:
                path = f"/skills/{httpx.URL('/' + skill_id).raw_path.decode().lstrip('/')}"
                saved = self.client.put(path, json={"source": read.json()["source"]})
                assert saved.status_code == 200, saved.text


def _packed(archive: dict[str, Any]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry in archive.get("entries", ()):
            if isinstance(entry, str):
                text = _SKILL_MD.format(name=archive["name"]) if entry == "SKILL.md" else "content"
                packed.writestr(entry, text)
            elif "symlink" in entry:
                link = zipfile.ZipInfo(entry["symlink"])
                link.external_attr = (stat.S_IFLNK | 0o777) << 16
                packed.writestr(link, entry["to"])
            else:
                with packed.open(entry["file"], "w") as large:
                    for _ in range(_LARGE_BYTES // (1024 * 1024)):
                        large.write(bytes(1024 * 1024))
    return content.getvalue()


def _tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} if folder.exists() else set()


def check(stage: SkillStage, wanted: dict[str, Any]) -> None:
    match wanted["check"]:
        case "files_outside_skill_dir":
            assert not stage.files()
        case "upload":
            refused = {name for name, answer in stage.uploads.items() if 400 <= answer.status_code < 500}
            accepted = {name for name, answer in stage.uploads.items() if answer.status_code == 201}
            assert set(wanted["refused"]) <= refused, refused
            assert set(wanted["accepted"]) <= accepted, accepted
        case "refused_upload":
            assert wanted["leaves"] == "nothing behind"  # looked at after each upload
        case "agent_read":
            assert [path for path, allowed in stage.reads.items() if allowed] == wanted["allowed"]
        case "memory_and_disk":
            assert sum(path.stat().st_size for path in stage.folder.rglob("*") if path.is_file()) < 1024 * 1024
        case "skills_listed":
            assert set(wanted["names_include"]) <= {skill["name"] for skill in stage.listed().values()}
        case "skill" if "description_is" in wanted:
            assert stage.read(wanted["id"]).json()["description"] == wanted["description_is"]
        case "skill":
            skill = stage.read(wanted["id"]).json()
            assert skill["body"].strip() == "正文" or any("UTF-8" in problem for problem in skill["problems"])
        case "system_prompt":
            for skill_id in stage.before:
                body = stage.read(skill_id).json()["body"]
                assert not any(part in body for part in wanted["not_contains_any"])
        case "file_after_unchanged_save":
            for skill_id, raw in stage.before.items():
                files = [path.read_bytes() for path in (stage.folder / skill_id).iterdir()]
                assert files == [raw]
        case "skill_id_in_url":
            assert stage.read(wanted["id"]).status_code == 200
        case other:
            raise AssertionError(f"no such check: {other}")
