"""The skills as the engine uses them."""

from __future__ import annotations

from flyback.domain.errors import InvalidError, NotFoundError, SkillFileError, SkillNotFoundError
from flyback.engine.ports import Skill
from flyback.providers.skill_folders import SkillFolder, SkillFolders
from flyback.providers.skill_text import approval_of


def usable_skill(folders: SkillFolders, folder: SkillFolder, *, version: str = "", runs_scripts: bool = False) -> Skill:
    """Raises SkillNotFoundError: its file cannot be used as it stands."""
    if not folder.text.usable:
        message = f"The skill {folder.id!r} cannot be used: {folder.text.problems[-1]}."
        raise SkillNotFoundError(
            message, field="agentId", fix="Mend its SKILL.md; the page of skills says what is wrong."
        )
    return Skill(
        skill_id=folder.id,
        name=folder.name,
        description=folder.text.description,
        body=folder.text.body,
        inputs=folder.inputs,
        outputs=folder.outputs,
        allowed_tools=folder.allowed_tools,
        approval=approval_of(folder.text.front),
        files=[file for file in folders.files(folder) if file != folder.file],
        version=version,
        runs_scripts=runs_scripts,
    )


def read_skill_file(folders: SkillFolders, folder: SkillFolder, path: str) -> str:
    """Raises SkillFileError."""
    try:
        return folders.read_file(folder, path)
    except (NotFoundError, InvalidError) as error:
        raise SkillFileError(error.message, fix=error.fix) from error


def unknown_skill(skill_id: str) -> SkillNotFoundError:
    fix = "Choose a skill from the list, or add its folder."
    return SkillNotFoundError(f"There is no skill {skill_id[:200]!r}.", field="agentId", fix=fix)
