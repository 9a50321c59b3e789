"""Reading a SKILL.md: what people write is understood, what is hostile is not used, and no bytes break the reader."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyback.engine.ports import SkillField
from flyback.providers.plain_yaml import PlainYamlError, load
from flyback.providers.skill_text import fields_of, read_skill, read_skill_text, tools_of

_BOM = b"\xef\xbb\xbf"

# name, bytes, name read, description read, body read
_ODD: list[tuple[str, bytes, str, str, str]] = [
    ("crlf", b"---\r\nname: crlf\r\ndescription: d\r\n---\r\nL1\r\nL2\r\n", "crlf", "d", "L1\nL2"),
    ("bom", _BOM + b"---\nname: bom\ndescription: d\n---\nB\n", "bom", "d", "B"),
    (
        "bom and crlf",
        _BOM + b"---\r\nname: bomcrlf\r\ndescription: |\r\n  a\r\n  b\r\n---\r\nB\r\n",
        "bomcrlf",
        "a\nb",
        "B",
    ),
    ("mixed line ends", b"---\r\nname: mixed\ndescription: d\r\n---\nB\r\n", "mixed", "d", "B"),
    ("ended by the end of the file", b"---\nname: nonl\ndescription: d\n---", "nonl", "d", ""),
    ("never ended", b"---\nname: open\ndescription: d\n", "open", "d", ""),
    ("blanks after the fences", b"--- \nname: trail\ndescription: d\n---  \nB\n", "trail", "d", "B"),
    ("blank lines before", b"\n\n---\nname: late\ndescription: d\n---\nB", "late", "d", "B"),
    (
        "another script",
        "---\nname: 任务收尾器\ndescription: 说明\n---\n正文\n".encode(),
        "任务收尾器",
        "说明",
        "正文",
    ),
    ("unquoted colons", b"---\nname: x\ndescription: Use when: asked: why\n---\nB", "x", "Use when: asked: why", "B"),
    ("asterisks first", b"---\nname: x\ndescription: **bold** it's\n---\nB", "x", "**bold** it's", "B"),
    ("colons over two lines", b"---\nname: x\ndescription: one: two\n  three\n---\nB", "x", "one: two three", "B"),
    ("an at sign first", b"---\nname: x\ndescription: @all `now`\n---\nB", "x", "@all `now`", "B"),
    ("half a quote", b'---\nname: x\ndescription: "foo" bar\n---\nB', "x", '"foo" bar', "B"),
    ("a list for a text", b"---\nname: x\ndescription:\n  - a\n  - b\n---\nB", "x", "a, b", "B"),
    ("fences in the body", b"---\nname: x\ndescription: d\n---\nB\n\n---\n\nC", "x", "d", "B\n\n---\n\nC"),
    ("no front matter", b"# Title\n\ntext", "", "", "# Title\n\ntext"),
    ("a ruler", b"---\nSome words.\n---\nmore", "", "", "---\nSome words.\n---\nmore"),
    ("empty front matter", b"---\n---\nB", "", "", "B"),
    ("nothing", b"", "", "", ""),
    ("numbers and truth", b"---\nname: 1.10\ndescription: yes\n---\nB", "1.10", "yes", "B"),
    ("tabs", b"---\nname: x\ndescription: d\nmetadata:\n\tauthor: a\n---\nB", "x", "d", "B"),
    ("keys in capitals", b"---\nName: x\nDescription: d\n---\nB", "x", "d", "B"),
    ("no end before the body", b"---\nname: x\ndescription: d\n\n# T\n\nB: c", "x", "d", "# T\n\nB: c"),
    ("an end in the words of YAML", b"---\nname: x\ndescription: d\n...\nB\n---\nC", "x", "d", "B\n---\nC"),
    ("trouble below the top", b"---\nname: x\ndescription: d\nmetadata:\n  a: b: c\n---\nB", "x", "d", "B"),
    ("UTF-16", "\ufeff---\r\nname: x\r\ndescription: é\r\n---\r\nB".encode("utf-16-le"), "x", "é", "B"),
    (
        "escapes of what no text can carry",
        rb"""---
name: "a\0\uD800b"
"description": "d\uDFFF"
---
B""",
        "a��b",
        "d�",
        "B",
    ),
    ("nul", b"---\nname: x\ndescription: d\n---\na\x00b", "x", "d", "a�b"),
]


@pytest.mark.parametrize(
    ("raw", "name", "description", "body"), [odd[1:] for odd in _ODD], ids=[odd[0] for odd in _ODD]
)
def test_an_odd_file_is_understood(raw: bytes, name: str, description: str, body: str) -> None:
    text = read_skill(raw)
    assert (text.name, text.description, text.body, text.usable) == (name, description, body, True)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("---\nname: gbk\ndescription: 说明\n---\n正文".encode("gbk"), "not UTF-8"),
        (b"---\nname: x\nname: y\n---\nB", "'name' twice"),
        (b"---\nname: x\nmetadata:\n  a: &b [1]\n  c: *b\n---\nB", "an anchor"),
        (b"---\nname: x\nmetadata:\n  a: !!python/name:os.system x\n---\nB", "a tag"),
        (b"---\nname: x\nmetadata:\n  a: " + b"[" * 60 + b"]" * 60 + b"\n---\nB", "more than 50 levels"),
        (b"---\nname: x\ndescription: " + b"d" * 66_000 + b"\n---\nB", "larger than 64 KiB"),
        (b"---\n[a]: b\n---\nB", "a key that is no text"),
    ],
)
def test_what_is_not_plain_data_is_not_used_and_the_reason_is_told(raw: bytes, problem: str) -> None:
    text = read_skill(raw)
    assert not text.usable
    assert problem in text.problems[-1]
    assert "?" not in text.source


def test_a_tag_on_one_line_is_text_and_nothing_else() -> None:
    text = read_skill(b"---\nname: !!python/object/apply:os.system ['x']\ndescription: d\n---\nB")
    assert text.name == "!!python/object/apply:os.system ['x']"


def test_unknown_keys_are_kept() -> None:
    text = read_skill(b"---\nname: x\ndescription: d\nlicense: MIT\nmetadata:\n  author: a\nours: [1, 2]\n---\nB")
    assert (text.front["license"], text.front["metadata"], text.front["ours"]) == ("MIT", {"author": "a"}, ["1", "2"])


_IN_METADATA = """---
name: x
description: d
metadata:
  io-inputs: |
    - name: topic
      type: string
      description: What it is about
      required: true
    - tone: How it sounds
    - length
  io-outputs: |
    summary: The text
    score: {type: number}
---
B"""
_AT_THE_TOP = """---
name: x
description: d
inputs: topic, tone
outputs:
  - name: r
    type: json
---
B"""


def test_inputs_and_outputs_are_read_in_every_spelling() -> None:
    front = read_skill_text(_IN_METADATA).front
    assert fields_of(front, "inputs") == (
        [
            SkillField("topic", "string", "What it is about", True),
            SkillField("tone", "string", "How it sounds"),
            SkillField("length"),
        ],
        [],
    )
    assert fields_of(front, "outputs")[0] == [
        SkillField("summary", "string", "The text"),
        SkillField("score", "number"),
    ]
    front = read_skill_text(_AT_THE_TOP).front
    assert fields_of(front, "inputs")[0] == [SkillField("topic"), SkillField("tone")]
    assert fields_of(front, "outputs")[0] == [SkillField("r", "json")]


def test_a_field_that_is_no_variable_is_left_out_and_told() -> None:
    front = read_skill_text("---\nname: x\ninputs: [a, b__c, d.e, a, '']\n---\n").front
    fields, problems = fields_of(front, "inputs")
    assert [field.name for field in fields] == ["a"]
    assert len(problems) == 4


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("Bash(git:*) Read, Write", ["Bash(git:*)", "Read", "Write"]),
        ("[Read, 'Bash(jq *)']", ["Read", "Bash(jq *)"]),
        ("''", []),
    ],
)
def test_allowed_tools_are_read_from_text_and_list(written: str, tools: list[str]) -> None:
    assert tools_of(read_skill_text(f"---\nname: x\nallowed-tools: {written}\n---\n").front) == tools
    assert tools_of(read_skill_text("---\nname: x\n---\n").front) is None


# Whatever the bytes.

_MARKS = "'\"[{}]?#\t\n\x00\u2028\ufeffé"
_WORDS = (
    "---\n",
    "---",
    "name: x\n",
    "description: ",
    "|\n  a\n",
    "- ",
    "  ",
    ": ",
    "&a ",
    "*a ",
    "!!x ",
    "%YAML 1.1\n",
    "\r\n",
    "io-inputs",
    "metadata:\n",
)
_BITS = st.sampled_from([*_MARKS, *_WORDS])


@given(st.binary(max_size=300) | st.lists(_BITS, max_size=40).map(lambda bits: "".join(bits).encode()))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    text = read_skill(raw)
    for kind in ("inputs", "outputs"):
        fields_of(text.front, kind)
    tools_of(text.front)
    assert "\r" not in text.source + text.body
    assert not text.body.startswith("\ufeff")
    assert text.usable or text.problems


@given(st.text(max_size=200) | st.lists(_BITS, max_size=30).map("".join))
def test_any_text_is_plain_data_or_refused(text: str) -> None:
    with suppress(PlainYamlError):
        assert isinstance(load(text), str | list | dict)


@given(st.text(alphabet=st.characters(exclude_characters="\r\x00\ufeff", exclude_categories=["Cs"]), max_size=200))
def test_reading_the_source_again_gives_the_same(text: str) -> None:
    first = read_skill_text(text)
    assert read_skill(first.source.encode()) == first
