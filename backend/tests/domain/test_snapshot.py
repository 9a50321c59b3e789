"""What is too large is cut by whole values, the latest written first kept, and marked."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.json_value import loads_strict
from flyback.domain.snapshot import cut_values, snapshot

values = st.dictionaries(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
    | st.integers()
    | st.lists(st.integers(), max_size=9),
    max_size=12,
)


@given(values)
def test_variables_that_fit_are_kept_as_they_are(variables: dict[str, JsonValue]) -> None:
    made = snapshot(variables)
    assert not made.truncated
    assert list(json.loads(made.json).items()) == list(variables.items())


@given(values, st.integers(2, 400))
def test_a_snapshot_never_exceeds_its_limit_and_marks_what_is_missing(
    variables: dict[str, JsonValue], limit: int
) -> None:
    made = snapshot(variables, limit=limit)
    assert len(made.json.encode()) <= limit
    kept = loads_strict(made.json)
    assert isinstance(kept, dict)
    assert made.truncated == (kept != variables)
    assert [name for name in variables if name in kept] == list(kept)
    assert cut_values(variables, limit) == (kept, made.truncated)


def test_the_latest_written_is_kept_and_what_does_not_fit_is_marked_with_its_size_and_head() -> None:
    variables: dict[str, JsonValue] = {"old": "x" * 60_000, "small": 1, "new": "y" * 60_000}
    kept, truncated = cut_values(variables)
    assert truncated
    assert kept["new"] == "y" * 60_000
    assert kept["small"] == 1
    assert kept["old"] == {"__truncated__": True, "size": 60_002, "head": "x" * 500}


def test_names_stay_even_where_no_value_fits() -> None:
    made = snapshot({f"n{n}": "我" * 50_000 for n in range(1_000)})
    kept = json.loads(made.json)
    assert len(kept) == 1_000
    assert kept["n999"]["head"] == "我" * 500
    assert kept["n0"] == {"__truncated__": True, "size": 150_002, "head": ""}
