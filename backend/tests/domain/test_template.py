"""Templates are filled in once, by one order of resolution; what is no reference stays."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.template import (
    Found,
    Reference,
    Rendered,
    Resolver,
    names_in,
    read_reference,
    references,
    render,
)
from flyback.domain.workspace import Workspace


def graph_of(labels: Mapping[str, str]) -> Graph:
    """A graph of llm nodes: id to label, an empty label for none."""
    nodes = {NodeId(id): Node(NodeId(id), "llm", {"label": label} if label else {}) for id, label in labels.items()}
    return Graph(nodes, (), {})


def filled(
    text: str,
    variables: Mapping[str, JsonValue],
    *,
    labels: Mapping[str, str] | None = None,
    visit: Mapping[str, str] | None = None,
) -> Rendered:
    return render(text, Resolver(graph_of(labels or {"B": "", "C": ""}), Workspace(variables, {}), visit).find)


def nothing(_reference: Reference) -> Found | None:
    return None


# What is a reference.


def test_braces_that_are_no_references_stay_as_they_are() -> None:
    text = (
        'Reply in this shape: {"name": "...", "tags": ["a"], "nested": {"k": {}}} for {{ topic }}. Set = {1; 2; 3}. '
        'CSS: a{color:red}. Python: f"{x!r:>{w}}". Go: {{.Field}} Jinja: {% if a %} Unknown: {{missing}} Odd: {{ }} '
        "{{{topic}}} }}{{"
    )
    rendered = filled(text, {"topic": "cats"})
    assert rendered.text == text.replace("{{ topic }}", "cats").replace("{{topic}}", "cats")
    assert rendered.unresolved == ("missing",)
    assert names_in(text) == ["topic", "missing"]


@pytest.mark.parametrize(
    "text",
    [
        *("{{}}", "{{ }}", "{{.a}}", "{{a.}}", "{{a..b}}", "{{a[x]}}", "{{a[-1]}}", "{{a[1}}"),
        *("{{a|b}}", "{{a()}}", "{{a  b}}", "{{-}}", "{{a\nb}}", "{{a/b}}", "{{ 'a' }}", "{a}", "{{a}"),
        "{{" + "a" * 401 + "}}",
        "{{" + "a." * 20 + "a}}",
    ],
)
def test_what_has_not_the_form_of_a_reference_is_text(text: str) -> None:
    assert references(text) == []
    assert filled(text, {"a": 1}).text == text


@pytest.mark.parametrize("name", ["topic", "用户问题", "हिन्दी", "a-b", "my topic", "été", "_x", "9"])
def test_a_name_may_be_written_in_any_script(name: str) -> None:
    assert filled(f"<{{{{ {name} }}}}>", {name: "v"}).text == "<v>"


# What a reference stands for.


def test_a_name_is_first_the_exact_key() -> None:
    variables: dict[str, JsonValue] = {"q": "input", "B__text": "of B", "C__q": "of C"}
    assert filled("{{q}} {{B__text}}", variables).text == "input of B"


def test_a_node_and_a_name_are_joined_by_a_dot_or_two_underscores() -> None:
    assert filled("{{B.v}} {{B__v}}", {"B__v": 1}).text == "1 1"


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"B__text": "t", "B__final_response": "f"}, "t"),
        ({"B__score": 1, "B__final_response": "f"}, "f"),
        ({"B__score": 1, "B__result": "r"}, "r"),
        ({"B__score": 1}, "1"),
        ({"B__a": 1, "B__b": "x"}, '{"a":1,"b":"x"}'),
    ],
)
def test_text_is_also_the_main_value_of_a_node_without_an_output_of_that_name(
    variables: Mapping[str, JsonValue], text: str
) -> None:
    assert filled("{{B.text}}", variables).text == text


def test_a_label_stands_for_its_node_where_exactly_one_node_carries_it() -> None:
    variables: dict[str, JsonValue] = {"B__text": "b", "C__text": "c", "D__text": "d"}
    labels = {"B": "Draft it", "C": "Twin", "D": "Twin"}
    rendered = filled("{{Draft it.text}} {{Draft it__text}} {{Twin.text}}", variables, labels=labels)
    assert rendered.text == "b b {{Twin.text}}"


def test_an_id_comes_before_a_label_and_the_longest_that_fits_wins() -> None:
    variables: dict[str, JsonValue] = {"a__b": {"x": 1}, "a.b__x": 2, "C__b": 3}
    assert filled("{{a.b.x}}", variables, labels={"a": "", "a.b": "", "C": "a"}).text == "2"
    assert filled("{{a.b.x}}", variables, labels={"a": "", "C": "a"}).text == "1"
    assert filled("{{a.b}}", {"C__b": 3}, labels={"C": "a"}).text == "3"


def test_a_bare_name_is_what_any_node_wrote_most_recently() -> None:
    assert filled("{{text}}", {"B__text": "earlier", "C__text": "later"}).text == "later"
    assert filled("{{b__c}}", {"B__b__c": 1}).text == "1"


def test_a_path_leads_into_a_value_by_keys_and_positions_only() -> None:
    variables: dict[str, JsonValue] = {"B__items": [{"title": "tides", "n": None}], "v": {"0": "key"}, "s": "text"}
    assert filled("{{B.items[0].title}} {{B.items[0].n}} {{v.0}}", variables).text == "tides null key"
    for stays in ("{{B.items[1]}}", "{{B.items[0].nope}}", "{{s.upper}}", "{{s[0]}}", "{{v[0]}}", "{{B.items.0}}"):
        assert filled(stays, variables).text == stays


def test_a_name_that_is_not_found_stays_and_is_listed_once() -> None:
    rendered = filled("{{ a }} {{a}} {{B.text}} {{c?}}!", {})
    assert rendered.text == "{{ a }} {{a}} {{B.text}} !"
    assert rendered.unresolved == ("a", "B.text")


def test_an_optional_name_that_is_found_is_filled_in() -> None:
    assert filled("{{a?}}{{ b ? }}", {"a": 1, "b": None}).text == "1null"


def test_a_visit_is_told_why_it_was_sent() -> None:
    text = "{{visit.reason}}|{{visit.iterSeq}}|{{visit.fromNode}}|{{visit.requirements}}"
    visit = {"reason": "too short", "iterSeq": "2", "fromNode": "C", "requirements": "in French"}
    assert filled(text, {}, visit=visit).text == "too short|2|C|in French"


def test_in_dag_mode_there_is_nothing_to_tell_of_a_visit() -> None:
    rendered = filled("<{{visit.reason}}{{visit.requirements}}>", {})
    assert (rendered.text, rendered.unresolved) == ("<>", ())


def test_a_node_that_is_itself_called_visit_wins() -> None:
    told = {"reason": "told", "iterSeq": "2"}
    assert filled("{{visit.reason}}", {"visit__reason": "by id"}, labels={"visit": ""}, visit=told).text == "by id"
    assert filled("{{visit.reason}}", {"D__reason": "by label"}, labels={"D": "visit"}, visit=told).text == "by label"
    assert filled("{{visit.iterSeq}}", {"visit__reason": ""}, labels={"visit": ""}, visit=told).unresolved


# How values stand in the text.


def test_a_text_is_inserted_as_it_is_and_anything_else_as_compact_json() -> None:
    variables: dict[str, JsonValue] = {"s": 'a "b"\n', "o": {"键": [1, None, True]}, "n": 10**30, "z": None}
    assert filled("{{s}}{{o}}{{n}}{{z}}", variables).text == 'a "b"\n{"键":[1,null,true]}' + str(10**30) + "null"


def test_inserted_values_are_literal() -> None:
    a = "{{secret}} {{b}} \\1 \\g<0> $& $1 C:\\new\\table %s {0} 😀"
    rendered = filled("A={{a}}|B={{b}}|", {"a": a, "b": "{{a}}", "secret": "TOP"})
    assert rendered.text == f"A={a}|B={{{{a}}}}|"
    assert rendered.used == {"a": a, "b": "{{a}}"}


def test_a_result_beyond_the_limit_is_cut_at_a_whole_character_and_marked() -> None:
    rendered = render("{{a}}" * 1_000, lambda _: Found("我" * 1_000_000), limit_bytes=1_000_000)
    assert rendered.truncated
    assert rendered.text == "我" * 333_333
    assert not filled("{{a}}", {"a": "x"}).truncated


# Properties.

names = st.from_regex(r"[^\W][\w-]{0,8}( [\w-]{1,5})?", fullmatch=True).filter(lambda name: name.strip(" ") == name)
paths = st.lists(names.map(lambda name: f".{name}") | st.integers(0, 99).map(lambda at: f"[{at}]"), max_size=4)


@given(st.text().filter(lambda text: "{{" not in text))
def test_a_text_without_references_is_unchanged(text: str) -> None:
    assert render(text, lambda _: Found("x")).text == text


@given(st.text(st.sampled_from("{}.[]0a_ ?-我\n")) | st.text())
def test_any_text_can_be_filled_in_and_keeps_what_is_not_found(text: str) -> None:
    kept = render(text, nothing)
    if not any(reference.optional for reference in references(text)):
        assert kept.text == text
    assert all(reference.written in text for reference in references(text))


@given(st.lists(st.text() | names.map(lambda name: f"{{{{{name}}}}}")), st.text())
def test_a_value_that_was_filled_in_is_never_read_again(pieces: list[str], value: str) -> None:
    text = "".join(pieces)
    found = references(text)
    plain = text
    for reference in found:
        plain = plain.replace(reference.written, "\0", 1)
    assert render(text, lambda _: Found(value)).text == plain.replace("\0", value) or "\0" in text


@given(names, paths, st.booleans())
def test_every_reference_reads_as_it_was_written(head: str, path: list[str], optional: bool) -> None:
    written = head + "".join(path)
    reference = read_reference(f"{{{{ {written}{'?' if optional else ''} }}}}")
    assert reference is not None
    assert (reference.name, reference.optional) == (written, optional)
    steps = [*reference.names, *reference.rest]
    assert "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps) == f".{written}"
    assert read_reference(written + ("?" if optional else "")) is not None


@given(
    st.text(st.characters(categories=("L", "Nd")), min_size=1, max_size=20),
    st.text(st.characters(categories=("L",)), min_size=1),
)
def test_what_a_node_wrote_is_found_under_its_id(node_id: str, name: str) -> None:
    assert filled(f"{{{{{node_id}.{name}}}}}", {f"{node_id}__{name}": "v"}, labels={node_id: ""}).text == "v"
