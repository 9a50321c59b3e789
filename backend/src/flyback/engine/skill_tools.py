"""What an agent sees of skills, in three tiers: a line in a list, the instructions when it opens one, files one by one.

A path is only looked up among a skill's own files. Scripts are text like any other file; where the operator lets them,
those in Python run in the sandbox, which has no files, no network and no commands. What a skill says of tools only
takes away.
"""

from __future__ import annotations

import keyword
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from pydantic import JsonValue

from flyback.domain.errors import CodeError
from flyback.domain.json_value import dumps
from flyback.engine.nodes.context import NodeContext
from flyback.engine.ports import AgentTool, Skill, ToolSpec

READ_SKILL = "read_skill"
READ_FILE = "read_file"
RUN_SCRIPT = "run_script"
OWN_NAMES = frozenset({READ_SKILL, READ_FILE, RUN_SCRIPT})

_RESULT = "result"
_MOST_LISTED = 200
_DESCRIPTION_CHARACTERS = 1_024
"""As the open format bounds it."""
_SHOWN_CHARACTERS = 50_000
_SCRIPTS = frozenset({".py", ".sh", ".bash", ".zsh", ".ps1", ".bat", ".cmd", ".js", ".mjs", ".ts", ".rb", ".pl", ".r"})
_PYTHON_ONLY = (
    "only Python programs of pure computing run here, in a sandbox without files, network, packages and commands. "
    "Read the file instead, and do what it does by other means or say that you cannot."
)


def catalogue(skills: Sequence[Skill]) -> str:
    """Return the first tier: a line for each skill."""
    return "\n".join(f"- {skill.skill_id}: {_one_line(skill.description)}" for skill in skills)


def opened(skill: Skill, *, chinese: bool) -> str:
    """Return the second tier: a skill's instructions, and which files lie beside them."""
    return "\n\n".join(part for part in (skill.body, _what_lies_beside(skill, chinese=chinese)) if part)


def opening_tools(skills: Sequence[Skill], ctx: NodeContext) -> list[AgentTool]:
    """Return the tools that open skills and what is in them."""
    if not skills:
        return []
    by_id = {skill.skill_id: skill for skill in skills}

    async def read(arguments: Mapping[str, JsonValue]) -> str:
        skill = by_id.get(str(arguments.get("skill")))
        if skill is None:
            return f"Error: the skills are {', '.join(by_id)}."
        return await ctx.use_own_tool(READ_SKILL, arguments, lambda: _ready(opened(skill, chinese=ctx.chinese)))

    spec = ToolSpec(READ_SKILL, "Read how a skill is done, before you use it.", _schema({"skill": _which(by_id)}))
    return [AgentTool(spec, read), *inside_tools(skills, ctx)]


def inside_tools(skills: Sequence[Skill], ctx: NodeContext) -> list[AgentTool]:
    """Return the tools for the third tier: what reads skills' files, and what runs their scripts where that is allowed."""
    with_files = {skill.skill_id: skill for skill in skills if skill.files}
    if not with_files:
        return []
    runs = any(skill.runs_scripts and _scripts(skill) for skill in skills)
    return [_file_tool(with_files, ctx), *([_script_tool(with_files, ctx)] if runs else [])]


def allowed_by(skills: Sequence[Skill]) -> Callable[[str], bool] | None:
    """Return which tools these skills leave, by their qualified names; None where one of them leaves all."""
    lists = [skill.allowed_tools for skill in skills]
    if not lists or None in lists:
        return None
    patterns = [name.partition("(")[0].removeprefix("mcp__") for names in lists for name in names or ()]
    return lambda tool: any(_fits(tool, pattern) for pattern in patterns)


def _fits(name: str, pattern: str) -> bool:
    """Whether a tool is meant: by its name, by its server's, or by a pattern with `*`."""
    return name == pattern or name.startswith(f"{pattern}__") or ("*" in pattern and fnmatchcase(name, pattern))


def _what_lies_beside(skill: Skill, *, chinese: bool) -> str:
    if not skill.files:
        return ""
    title = "本技能的文件（用 read_file 阅读）：" if chinese else "Files of this skill, to be read with read_file:"
    lines = [title, *(f"- {path}" for path in skill.files[:_MOST_LISTED])]
    if (more := len(skill.files) - _MOST_LISTED) > 0:
        lines.append(f"…（另有 {more} 个）" if chinese else f"… and {more} more")
    if _scripts(skill):
        lines += ["", _of_scripts(skill.runs_scripts, chinese=chinese)]
    return "\n".join(lines)


def _of_scripts(runs: bool, *, chinese: bool) -> str:
    if chinese:
        return (
            "其中的 Python 脚本可用 run_script 在沙箱中运行（无文件、网络和命令）。"
            if runs
            else "此服务器不运行脚本；可以阅读脚本，并用其他方式完成同样的工作。"
        )
    if runs:
        return "Python scripts among them run with run_script, in a sandbox without files, network and commands."
    return "Scripts are not run on this server: read them, and do what they do by other means."


def _scripts(skill: Skill) -> list[str]:
    return [path for path in skill.files if PurePosixPath(path).suffix.lower() in _SCRIPTS]


def _file_tool(skills: Mapping[str, Skill], ctx: NodeContext) -> AgentTool:
    async def read(arguments: Mapping[str, JsonValue]) -> str:
        skill = _meant(skills, arguments)
        if skill is None:
            return _not_one_of(skills)
        path = _path_in(arguments)
        return await ctx.use_own_tool(READ_FILE, arguments, lambda: ctx.skill_file(skill.skill_id, path))

    return AgentTool(ToolSpec(READ_FILE, "Read a file of a skill.", _schema(_path_of(skills))), read)


def _script_tool(skills: Mapping[str, Skill], ctx: NodeContext) -> AgentTool:
    async def run(arguments: Mapping[str, JsonValue]) -> str:
        skill = _meant(skills, arguments)
        if skill is None:
            return _not_one_of(skills)
        return await ctx.use_own_tool(RUN_SCRIPT, arguments, lambda: _run(skill, arguments, ctx))

    given: JsonValue = {"type": "object", "description": "Variable name to value, as the program finds them."}
    said = (
        "Run a Python script of a skill in a sandbox without files, network and commands. "
        f"You are given what it prints and its variable `{_RESULT}`."
    )
    return AgentTool(ToolSpec(RUN_SCRIPT, said, _schema(_path_of(skills), {"inputs": given})), run)


async def _run(skill: Skill, arguments: Mapping[str, JsonValue], ctx: NodeContext) -> str:
    """Raises SkillFileError, CodeError and what else `Sandbox.run` raises."""
    path = _path_in(arguments)
    source = await ctx.skill_file(skill.skill_id, path)
    if PurePosixPath(path).suffix.lower() != ".py":
        raise CodeError(f"the script {path[:200]!r} cannot be run: {_PYTHON_ONLY}")
    inputs = arguments.get("inputs")
    given = dict(inputs) if isinstance(inputs, dict) else {}
    for name in given:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise CodeError(f"{name[:100]!r} is no name for a variable of a program")
    ran = await ctx.sandbox.run(source, given, [_RESULT])
    shown = [ran.printed.strip()] if ran.printed.strip() else []
    if _RESULT in ran.values:
        shown.append(f"{_RESULT} = {dumps(ran.values[_RESULT])}")
    return _cut("\n".join(shown) or "(The script printed nothing and set no result.)")


def _meant(skills: Mapping[str, Skill], arguments: Mapping[str, JsonValue]) -> Skill | None:
    only = next(iter(skills)) if len(skills) == 1 else None
    return skills.get(str(arguments.get("skill") or only))


def _path_in(arguments: Mapping[str, JsonValue]) -> str:
    """The file that is meant, as the skill's files are listed: skills write `./scripts/x.py` too."""
    return str(arguments.get("path")).removeprefix("./")


def _not_one_of(skills: Mapping[str, Skill]) -> str:
    return f"Error: the skills with files are {', '.join(skills)}."


def _path_of(skills: Mapping[str, Skill]) -> dict[str, JsonValue]:
    path: dict[str, JsonValue] = {"path": {"type": "string", "description": "As the skill's files are listed."}}
    return path if len(skills) == 1 else {**path, "skill": _which(skills)}


def _which(skills: Mapping[str, Skill]) -> JsonValue:
    return {"type": "string", "enum": list(skills)}


def _schema(required: Mapping[str, JsonValue], optional: Mapping[str, JsonValue] | None = None) -> dict[str, JsonValue]:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _DESCRIPTION_CHARACTERS else line[: _DESCRIPTION_CHARACTERS - 1] + "…"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "\n… (cut)"


def _ready(text: str) -> Awaitable[str]:
    async def give() -> str:
        return text

    return give()
