"""Everything that reads what strangers wrote is fed what is near to a corpus: it reads or refuses, with a reason and in time.

`make test` tries some, `make fuzz` many thousands. A text that once broke a reader is kept in its corpus.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest
from starlette.requests import Request

from flyback.api.event_stream import position
from flyback.domain.errors import BadJsonError, BadPositionError, InvalidError
from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.graph_file import read_document
from flyback.domain.json_value import dumps, loads_strict
from flyback.domain.redaction import Redactor
from flyback.domain.run import Mode
from flyback.domain.template import Resolver, names_in, read_reference, render
from flyback.domain.workspace import Workspace
from flyback.engine.agentic.answer import REASON_CHARACTERS, Answer, Names, read_answer
from flyback.engine.agentic.reason_stream import ReasonStream
from flyback.engine.check import check
from flyback.providers.skill_text import read_skill
from kit.fuzz import fed_with

pytestmark = pytest.mark.timeout(3_600)
_LONGEST_SECONDS = 3.0


@contextmanager
def _in_time() -> Generator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < _LONGEST_SECONDS


_GRAPH = Graph(
    {NodeId(name): Node(NodeId(name), "llm", {"label": name.title()}) for name in ("ask", "my node")}, (), {}
)
_WORKSPACE = Workspace.of_inputs(
    {"ask__text": "«{{topic}}»", "ask__items": [{"name": "n"}], "topic": "tides", "主题": {"键": [1]}}
)
_TEMPLATE_BITS = [
    b"{{",
    b"}}",
    b"?",
    b".",
    b"[0]",
    b"[",
    b"]",
    b"__",
    b" ",
    b"ask",
    b"visit.",
    "主题".encode(),
    b"\xe2\x80\x8d",
]


@fed_with("fuzz/templates", _TEMPLATE_BITS)
def test_a_template_is_filled_in_once_and_what_is_no_reference_stays(raw: bytes) -> None:
    text = raw.decode(errors="replace")
    with _in_time():
        rendered = render(text, Resolver(_GRAPH, _WORKSPACE, {"reason": "{{topic}}"}).find, limit_bytes=10_000)
    names = set(names_in(text))
    assert set(rendered.unresolved) | set(rendered.used) <= names
    assert all(read_reference(name) is not None for name in names)
    assert len(rendered.text.encode()) <= 10_000
    if not names:
        assert rendered.text == text[:10_000] or rendered.truncated


_JSON_BITS = [
    b"null",
    b"[]",
    b"{}",
    b'"',
    b",",
    b":",
    b"-1",
    b"1e308",
    b"true",
    b'"id":"a"',
    b'"data":',
    b"\\ud800",
    b'"type":"iteration"',
]


@fed_with("fuzz/graphs", _JSON_BITS)
def test_a_graph_is_read_as_far_as_it_can_be_and_every_fault_is_said(raw: bytes) -> None:
    with _in_time(), suppress(BadJsonError):
        value = loads_strict(raw)
        for mode in Mode:
            checked = check(value, mode, script=value)
            assert checked.valid == (not checked.errors)
            assert all(fault.message for fault in (*checked.errors, *checked.warnings))
            assert {node for level in checked.levels for node in level} <= set(checked.graph.nodes)


@fed_with("fuzz/imports", _JSON_BITS)
def test_a_workflow_file_is_read_or_refused_and_what_was_read_is_read_again_as_the_same(raw: bytes) -> None:
    with _in_time(), suppress(BadJsonError, InvalidError):
        document = read_document(loads_strict(raw))
        assert read_document(loads_strict(dumps(document.on_wire()).encode())) == document
        check(dict(document.graph_data), document.mode, script=document.script)


_NAMES = Names({NodeId(name): name.title() for name in ("draft", "Review-2", "out", "节点1")})
_ANSWER_BITS = [
    b"{",
    b"}",
    b'"',
    b"'",
    b"\\",
    b"</think>",
    b"<think>",
    b"```",
    b'"next":',
    b'"reason":',
    b"[",
    b"//",
    b"\\u",
]


@fed_with("fuzz/answers", _ANSWER_BITS)
def test_an_answer_of_the_planner_names_a_node_of_the_list_or_is_told_why_not(raw: bytes) -> None:
    text = raw.decode(errors="replace")
    with _in_time():
        found = read_answer(text, _NAMES)
    if isinstance(found, Answer):
        assert found.next in {"draft", "Review-2", "out", "节点1"}
        assert len(found.reason) <= REASON_CHARACTERS
        json.dumps(found.reason).encode()
    else:
        assert found.why


@fed_with("fuzz/answers", _ANSWER_BITS)
def test_a_reason_that_streams_is_the_same_in_whatever_pieces_it_comes(raw: bytes) -> None:
    text = raw.decode(errors="replace")
    whole, letter_by_letter = ReasonStream(), ReasonStream()
    with _in_time():
        whole(text)
        for letter in text:
            letter_by_letter(letter)
    assert letter_by_letter.text == whole.text


@fed_with("fuzz/positions", [b"0", b"9", b"-", b"+", b"_", b" ", b"\xd9\xa3", b"\xc2\xb2", b"e", b"."])
def test_a_position_is_one_that_was_reached_or_is_refused(raw: bytes) -> None:
    from_header = position(Request({"type": "http", "headers": [(b"last-event-id", raw)]}), None, last=20)
    assert 0 <= from_header <= 20
    text = raw.decode(errors="replace")
    with suppress(BadPositionError):
        assert str(position(Request({"type": "http", "headers": []}), text, last=20)) == (text.lstrip("0") or "0")


_REPEATED = [
    "{",
    "{{",
    '{"a":',
    "[",
    '"',
    "'",
    "{'",
    "\\",
    "</think>",
    "<think>",
    "```",
    '{"next":',
    "//",
    "/*",
    "{{a.",
    "{{a[0]",
    " ",
    "\n",
    "a",
    "\\u",
    "---\n",
    "- ",
    ": ",
    "? ",
    "&a ",
    "|\n ",
    "é",
    "[1,",
    "key=",
    '{"next":"x",',
    "}{",
    "{}",
    "1",
    "-",
    "{x:",
    "<",
    '{"a":{"b":',
]


@pytest.mark.parametrize("sign", _REPEATED)
def test_a_text_of_one_sign_over_and_over_is_read_in_time(sign: str) -> None:
    text = (sign * 60_000)[:60_000]
    with _in_time():
        render(text, Resolver(_GRAPH, _WORKSPACE, None).find)
    with _in_time():
        read_answer(text, _NAMES)
        ReasonStream()(text)
    with _in_time():
        read_skill(f"---\n{text}\n---\nbody".encode())
    with _in_time(), suppress(BadJsonError):
        check(loads_strict(text.encode()), Mode.DAG)
    with _in_time():
        redactor = Redactor()
        redactor.learn(f"{sign}-and-then-something-else", "a" * 40 + "b")
        stream = redactor.stream()
        shown = "".join(stream.add(text[begin : begin + 7]) for begin in range(0, len(text), 7))
    assert text.startswith(shown)
