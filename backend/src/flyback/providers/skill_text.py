"""Reading a SKILL.md: leniently, whatever bytes it has; what is wrong is said and not fatal.

About one public file in eight is refused by a strict YAML reader: colons and asterisks in a description, tabs, a list where
a text belongs, no end of the front matter. What people meant is nearly always plain, so it is read, and the strict
judgement stands beside it; of what cannot be mended the plain lines are read. What could be hostile is not mended: front matter with tags, aliases, duplicate keys or too
much of it is not used at all.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flyback.domain.json_value import mend_text
from flyback.engine.ports import SkillField
from flyback.providers.plain_yaml import NoMappingError, NotPlainError, Plain, PlainYamlError, load

MAX_FRONT_MATTER = 64 * 1024
NOT_UTF_8 = "SKILL.md is not UTF-8"
_BOM = "\ufeff"
_FENCE = "---"
_ENDS = (_FENCE, "...")
"""What closes front matter: YAML knows both."""
_TOP_LINE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)[ \t]*:(?:[ \t]+(.*))?$")
_BLOCK = re.compile(r"[|>][+-]?[0-9]?[+-]?[ \t]*(?:#.*)?$")
_TABS = re.compile(r"^\t+")
_TOOL = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


@dataclass(frozen=True, slots=True)
class SkillText:
    """A SKILL.md as it was understood."""

    source: str
    """The whole text, line ends as LF, without byte order mark."""
    front: Mapping[str, Plain]
    """The front matter, keys we do not know included."""
    body: str
    problems: tuple[str, ...]
    """What had to be guessed, in words."""
    usable: bool = True
    """False where it cannot be used as it stands: not UTF-8, or front matter that is not plain data."""

    @property
    def name(self) -> str:
        return _one_line(self._said("name"))

    @property
    def description(self) -> str:
        return self._said("description").strip()

    def _said(self, key: str) -> str:
        """What stands under a key, in whatever case it was written."""
        written = key if key in self.front else next((one for one in self.front if one.lower() == key), key)
        return as_text(self.front.get(written, ""))


def read_skill(raw: bytes) -> SkillText:
    """Read a SKILL.md. Never raises."""
    encoding = "utf-16" if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"
    try:
        read = read_skill_text(plain_source(raw.decode(encoding)))
    except UnicodeDecodeError:
        shown = plain_source(raw.decode("utf-8", "replace"))
        return SkillText(shown, {}, "", (NOT_UTF_8,), usable=False)
    if encoding == "utf-8":
        return read
    return replace(read, problems=(*read.problems, "SKILL.md is UTF-16; it is saved as UTF-8 when it is changed"))


def plain_source(text: str) -> str:
    """Return a text as it is read and edited: LF, no byte order mark, nothing that JSON cannot carry."""
    return mend_text(text.lstrip(_BOM).replace("\r\n", "\n").replace("\r", "\n"))


def read_skill_text(source: str) -> SkillText:
    front_text, body, problems = _split(source)
    if front_text is None:
        return SkillText(source, {}, body, (*problems, "SKILL.md has no front matter"))
    if len(front_text.encode("utf-8")) > MAX_FRONT_MATTER:
        limit = f"the front matter is larger than {MAX_FRONT_MATTER // 1024} KiB"
        return SkillText(source, {}, body, (*problems, limit), usable=False)
    try:
        front, more = _read_front(front_text)
    except NoMappingError:  # a ruler above and below a paragraph
        return SkillText(source, {}, _body(source), (*problems, "SKILL.md has no front matter"))
    except PlainYamlError as error:
        return SkillText(source, {}, body, (*problems, f"the front matter cannot be used: {error}"), usable=False)
    return SkillText(source, front, body, (*problems, *more))


def _split(source: str) -> tuple[str | None, str, list[str]]:
    """Return front matter, body, and what was odd. The front matter begins at the first line that is not blank."""
    lines = source.split("\n")
    start = next((index for index, line in enumerate(lines) if line.strip()), None)
    if start is None or lines[start].rstrip() != _FENCE:
        return None, _body(source), []
    end = next((index for index in range(start + 1, len(lines)) if lines[index].rstrip() in _ENDS), None)
    if end is not None:
        return "\n".join(lines[start + 1 : end]), _body("\n".join(lines[end + 1 :])), []
    rest = lines[start + 1 :]
    if not any(_TOP_LINE.match(line) for line in rest[:1]):
        return None, _body(source), []
    end = _unmarked_end(rest)
    return "\n".join(rest[:end]), _body("\n".join(rest[end:])), ["the front matter has no end"]


def _unmarked_end(lines: Sequence[str]) -> int:
    """Return where front matter ends that nothing closes: at a blank line, unless another key or its value follows."""
    for index, line in enumerate(lines):
        following = next((after for after in lines[index:] if after.strip()), "")
        if not line.strip() and not following.startswith((" ", "\t")) and not _TOP_LINE.match(following):
            return index
    return len(lines)


def _body(text: str) -> str:
    return text.strip("\n")


def _read_front(text: str) -> tuple[Mapping[str, Plain], list[str]]:
    """Read what is plain data: as it is written, else with its lines quoted, else of its lines those that hold a value.

    Raises:
        PlainYamlError: it is more than plain data, in every reading.
    """
    try:
        return _as_mapping(load(text)), []
    except PlainYamlError as error:
        problem = f"the front matter is no strict YAML: {error}"
    mended = _quoted(text)
    try:
        return _as_mapping(load(mended)), [problem]
    except NotPlainError:
        raise
    except PlainYamlError:
        lines = [line for line in mended.split("\n") if _has_value(line)]
        if not lines:
            raise
        return _as_mapping(load("\n".join(lines))), [problem, "only its keys with a value on the same line were read"]


def _has_value(line: str) -> bool:
    found = _TOP_LINE.match(line)
    value = (found[2] or "").strip() if found else ""
    return bool(value) and _is_whole(value)


def _as_mapping(value: Plain) -> Mapping[str, Plain]:
    if isinstance(value, dict):
        return value
    if value == "":
        return {}
    raise NoMappingError("it is not a list of keys and values")


def _quoted(text: str) -> str:
    """Return the front matter with the value of each of its keys, where it stands on the key's line, as quoted text.

    Tabs that indent a line become blanks.
    """
    lines: list[str] = []
    for line in (_TABS.sub(lambda found: "  " * len(found[0]), line) for line in text.split("\n")):
        found = _TOP_LINE.match(line)
        value = (found[2] or "").strip() if found else ""
        if found is None or not value or _BLOCK.match(value) or _is_whole(value):
            lines.append(line)
        else:
            lines.append(f"{found[1]}: '" + value.replace("'", "''") + "'")
    return "\n".join(_with_continued(lines))


def _with_continued(lines: Sequence[str]) -> list[str]:
    """Draw the lines that continue a quoted value into the quotes."""
    joined: list[str] = []
    for line in lines:
        continues = line[:1] in (" ", "\t") and line.strip() and joined and joined[-1].endswith("'")
        if continues and _TOP_LINE.match(joined[-1]) and "'" in joined[-1]:
            joined[-1] = joined[-1][:-1] + " " + line.strip().replace("'", "''") + "'"
        else:
            joined.append(line)
    return joined


def _is_whole(value: str) -> bool:
    """Whether a value can be read by itself: a quoted text, a list or mapping on one line."""
    if value[0] not in "\"'[{":
        return False
    try:
        load(value)
    except PlainYamlError:
        return False
    return True


def as_text(value: Plain) -> str:
    """Return a value as text, where a text belongs: a list by commas, a mapping by lines."""
    match value:
        case str():
            return value
        case list():
            return ", ".join(as_text(item) for item in value)
        case dict():
            return "\n".join(f"{key}: {as_text(item)}" for key, item in value.items())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def tools_of(front: Mapping[str, Plain]) -> list[str] | None:
    """Return what `allowed-tools` names: a list, or a text with blanks or commas between. None allows what there is."""
    if "allowed-tools" not in front:
        return None
    return _tool_names(front["allowed-tools"])


def approval_of(front: Mapping[str, Plain]) -> list[str]:
    """Return the tools before which a person is to be asked: `approval` in `metadata`, or at the top."""
    metadata = front.get("metadata")
    value = metadata.get("approval") if isinstance(metadata, dict) else None
    return _tool_names(value if value is not None else front.get("approval", ""))


def _tool_names(value: Plain) -> list[str]:
    names = [as_text(item) for item in value] if isinstance(value, list) else [as_text(value)]
    return [tool for name in names for tool in _TOOL.findall(name)]


def fields_of(front: Mapping[str, Plain], kind: str) -> tuple[list[SkillField], list[str]]:
    """Return the declared `inputs` or `outputs`, and what is wrong with them.

    They stand in `metadata` as a YAML text under `io-inputs` or `io-outputs`, or at the top.
    """
    metadata = front.get("metadata")
    value = metadata.get(f"io-{kind}") if isinstance(metadata, dict) else None
    if value is None:
        value = front.get(kind)
    if value is None:
        return [], []
    problems: list[str] = []
    if isinstance(value, str):
        try:
            value = load(value) if len(value) <= MAX_FRONT_MATTER else ""
        except PlainYamlError as error:
            return [], [f"the {kind} cannot be read: {error}"]
    fields: list[SkillField] = []
    for field in _declared(value):
        wrong = _wrong_name(field.name, fields)
        if wrong is None:
            fields.append(field)
        else:
            problems.append(f"{kind}: {wrong}")
    return fields, problems


def _wrong_name(name: str, earlier: Sequence[SkillField]) -> str | None:
    if not name:
        return "one has no name"
    if "__" in name or "." in name or "{" in name or "}" in name or len(name) > 128:
        return f"{name[:128]!r} is no name for a variable"
    if any(field.name == name for field in earlier):
        return f"{name!r} is declared twice"
    return None


def _declared(value: Plain) -> list[SkillField]:
    match value:
        case str():
            return [SkillField(name) for name in re.split(r"[\s,]+", value.strip()) if name]
        case list():
            return [field for item in value for field in _item(item)]
        case dict():
            return [_field(name, what) for name, what in value.items()]


def _item(item: Plain) -> list[SkillField]:
    match item:
        case str():
            name, _, description = item.partition(":")
            return [SkillField(name.strip(), description=description.strip())]
        case {"name": name, **rest}:
            return [_field(as_text(name), rest)]
        case dict():
            return [_field(name, what) for name, what in item.items()]
        case list():
            return []


def _field(name: str, what: Plain) -> SkillField:
    if not isinstance(what, dict):
        return SkillField(name.strip(), description=_one_line(as_text(what)))
    return SkillField(
        name=name.strip(),
        type=_one_line(as_text(what.get("type", ""))) or "string",
        description=_one_line(as_text(what.get("description", ""))),
        required=as_text(what.get("required", "")).strip().lower() in ("true", "yes", "on", "1"),
    )
