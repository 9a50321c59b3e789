"""What may be written over a workspace when a run is forked, and what the workspace is then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.errors import InputInvalidError
from flyback.domain.fork import MAX_BYTES, read_edits
from flyback.domain.workspace import FROM_INPUTS, Workspace
from kit.drawing import draw

GRAPH = draw("ask -> draft -> answer", ask={"variables": [{"name": "topic"}, {"name": "tone"}]})
WRITERS = {"lang": FROM_INPUTS, "ask__topic": 0, "topic": 0, "draft__text": 1}

_keys = st.sampled_from(["a", "b", "c", "draft__text"])


def test_what_stands_in_the_workspace_or_could_be_written_is_taken_as_it_is() -> None:
    given: dict[str, JsonValue] = {
        "draft__text": {"a": [1, None]},
        "lang": "en",
        "tone": "warm",
        "answer__result": 10**30,
    }
    assert read_edits(GRAPH, WRITERS, given) == given
    assert read_edits(GRAPH, WRITERS, None) == read_edits(GRAPH, WRITERS, {}) == {}


def test_an_edit_of_what_a_user_input_wrote_is_an_edit_of_both_its_names() -> None:
    for name in ("topic", "ask__topic"):
        assert read_edits(GRAPH, WRITERS, {name: "stars"}) == {"ask__topic": "stars", "topic": "stars"}
    both: dict[str, JsonValue] = {"topic": "stars", "ask__topic": "moons"}
    assert read_edits(GRAPH, WRITERS, both) == both


def test_two_names_that_were_written_apart_are_edited_apart() -> None:
    assert read_edits(GRAPH, {"topic": FROM_INPUTS, "ask__topic": 3}, {"topic": "stars"}) == {"topic": "stars"}
    assert read_edits(GRAPH, {"topic": FROM_INPUTS}, {"topic": "stars"}) == {"topic": "stars"}


@pytest.mark.parametrize("name", ["", "nothing", "nobody__text", "draft__", "__text", "draft.text", "x" * 600])
def test_what_nothing_writes_is_refused_by_name(name: str) -> None:
    with pytest.raises(InputInvalidError) as refused:
        read_edits(GRAPH, WRITERS, {"topic": "fine", name: 1})
    (fault,) = refused.value.faults
    assert (fault.field or "").startswith("variables.")
    assert fault.fix


def test_too_much_is_refused_and_what_json_cannot_carry_is_mended() -> None:
    with pytest.raises(InputInvalidError, match="bytes"):
        read_edits(GRAPH, WRITERS, {"topic": "x" * MAX_BYTES})
    assert read_edits(GRAPH, WRITERS, {"draft__text": "a\x00b"}) == {"draft__text": "a�b"}


@given(st.dictionaries(_keys, st.integers()), st.dictionaries(_keys, st.integers()))
def test_edits_are_written_last_and_by_nobody(variables: dict[str, JsonValue], edits: dict[str, JsonValue]) -> None:
    before = Workspace(variables, dict.fromkeys(variables, 3))
    after = before.edited(edits)
    assert after.variables == {**variables, **edits}
    assert list(after.variables) == list(after.writers) == [*(key for key in variables if key not in edits), *edits]
    assert after.writers == {key: FROM_INPUTS if key in edits else 3 for key in after.variables}
    assert before.variables == variables
