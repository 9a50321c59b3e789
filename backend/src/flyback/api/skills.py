"""Skill folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Request

from flyback.api.deps import All, Caller
from flyback.api.json_body import router
from flyback.api.payloads import FolderName, Id
from flyback.api.uploads import body_of, file_of
from flyback.api.wire.equipment import (
    Skill,
    SkillDetail,
    SkillField,
    SkillFile,
    SkillGiven,
    SkillList,
    SkillSaved,
    SkillVersion,
    SkillVersionList,
)
from flyback.engine import ports
from flyback.services.skills import SkillDetailView, SkillVersionView, SkillView

Into = Annotated[str | None, Query(max_length=255, description="The skill whose content it takes the place of.")]
FilePath = Annotated[str, Query(max_length=1_000, description="As the skill's files are listed.")]

routes = router(prefix="/api/skills", tag="skills")


@routes.get("")
async def list_skills(caller: Caller, services: All) -> SkillList:
    items = [_skill(view) for view in await services.skills.all(caller)]
    return SkillList(items=items, total=len(items))


@routes.post("", status_code=201)
async def make_skill(body: SkillGiven, caller: Caller, services: All) -> SkillDetail:
    """Make a skill folder with this SKILL.md."""
    return _detail(await services.skills.create(caller, body.source))


@routes.post("/upload", status_code=201, openapi_extra=body_of())
async def upload_skill(request: Request, caller: Caller, services: All, into: Into = None) -> SkillDetail:
    """Make a skill folder of a zip or a single SKILL.md, sent as the form field `file`. Nothing in it is run."""
    return _detail(await services.skills.upload(caller, await file_of(request), into=into))


@routes.get("/{skill_id}")
async def read_skill(skill_id: FolderName, caller: Caller, services: All) -> SkillDetail:
    return _detail(await services.skills.get(caller, skill_id))


@routes.put("/{skill_id}")
async def save_skill(skill_id: FolderName, body: SkillSaved, caller: Caller, services: All) -> SkillDetail:
    """Put another SKILL.md in the place of this skill's, which is kept as a version.

    With the `revision` that it was made from, a save is refused where something else was saved since: 409, with the
    stored one as `current`.
    """
    return _detail(await services.skills.save(caller, skill_id, body.source, revision=body.revision))


@routes.delete("/{skill_id}", status_code=204)
async def delete_skill(skill_id: FolderName, caller: Caller, services: All) -> None:
    await services.skills.delete(caller, skill_id)


@routes.get("/{skill_id}/file")
async def read_skill_file(skill_id: FolderName, path: FilePath, caller: Caller, services: All) -> SkillFile:
    """Return the text of one of the skill's files."""
    return SkillFile(path=path, text=await services.skills.file(caller, skill_id, path))


@routes.get("/{skill_id}/versions")
async def list_skill_versions(skill_id: FolderName, caller: Caller, services: All) -> SkillVersionList:
    """List what the skill holds and what it has held, newest first."""
    items = [_version(view) for view in await services.skills.versions(caller, skill_id)]
    return SkillVersionList(items=items, total=len(items))


@routes.get("/{skill_id}/versions/{version}")
async def read_skill_version(skill_id: FolderName, version: Id, caller: Caller, services: All) -> SkillDetail:
    """Return the skill as it was."""
    return _detail(await services.skills.version(caller, skill_id, version))


@routes.get("/{skill_id}/versions/{version}/file")
async def read_skill_version_file(
    skill_id: FolderName, version: Id, path: FilePath, caller: Caller, services: All
) -> SkillFile:
    """Return the text of one of the skill's files as it was."""
    return SkillFile(path=path, text=await services.skills.file(caller, skill_id, path, version=version))


@routes.post("/{skill_id}/versions/{version}/restore")
async def restore_skill_version(skill_id: FolderName, version: Id, caller: Caller, services: All) -> SkillDetail:
    """Put what the skill held in the place of what it holds. That is kept as a version too."""
    return _detail(await services.skills.restore(caller, skill_id, version))


def _skill(view: SkillView) -> Skill:
    return Skill(
        id=view.id,
        name=view.name,
        description=view.description,
        inputs=_fields(view.inputs),
        outputs=_fields(view.outputs),
        allowed_tools=None if view.allowed_tools is None else list(view.allowed_tools),
        problems=list(view.problems),
        usable=view.usable,
        built_in=view.built_in,
        updated_at=view.updated_at,
    )


def _detail(view: SkillDetailView) -> SkillDetail:
    return SkillDetail(
        **_skill(view).model_dump(), body=view.body, source=view.source, revision=view.revision, files=list(view.files)
    )


def _version(view: SkillVersionView) -> SkillVersion:
    return SkillVersion(
        number=view.number,
        hash=view.hash,
        name=view.name,
        description=view.description,
        current=view.current,
        created_at=view.created_at,
    )


def _fields(fields: Sequence[ports.SkillField]) -> list[SkillField]:
    return [
        SkillField(name=one.name, type=one.type, description=one.description, required=one.required) for one in fields
    ]
