"""JSON is read and written exactly; what a model returns is kept and mended."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.errors import BadJsonError
from flyback.domain.json_value import (
    canonical,
    dumps,
    is_deeper,
    loads,
    loads_mended,
    loads_strict,
    mend,
    mend_text,
)

texts = st.text(st.characters(exclude_categories=("Cs",)))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(10**400), max_value=10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5), max_leaves=30
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(max_size=4)),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text() | st.integers(), inner, max_size=5) | st.tuples(inner)
    ),
    max_leaves=30,
)


@given(json_values)
def test_any_json_value_comes_back_as_it_was_written(value: JsonValue) -> None:
    assert loads(dumps(value)) == value
    assert loads_strict(dumps(value)) == value
    assert loads_mended(dumps(value))[0] == mend(value)[0]


@given(anything)
def test_a_mended_value_is_always_strict_json(value: object) -> None:
    mended, _ = mend(value)
    assert loads_strict(dumps(mended)) == mended
    assert dumps(mended).encode("utf-8").decode("utf-8") == dumps(mended)


@given(anything)
def test_whatever_is_written_is_strict_json_in_valid_unicode(value: object) -> None:
    loads_strict(dumps(value).encode("utf-8"))


@given(json_values)
def test_mending_leaves_what_is_right_as_it_is(value: JsonValue) -> None:
    if "\\u0000" not in json.dumps(value):
        assert mend(value) == (value, [])


@given(st.text())
def test_reading_any_text_gives_a_value_or_is_refused(text: str) -> None:
    for read in (loads_strict, loads_mended, loads):
        try:
            read(text)
        except BadJsonError:
            continue


@given(st.dictionaries(texts, json_values, max_size=6))
def test_equal_objects_have_equal_canonical_text_in_whatever_order(value: dict[str, JsonValue]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


def test_an_integer_of_any_size_stays_exact() -> None:
    big = 12345678901234567890123456789012345678901234567890
    assert loads(f'{{"n": {big}}}') == {"n": big}
    assert loads_mended(f"[{big}, 18446744073709551616]") == ([big, 18446744073709551616], [])
    assert dumps([big, -big]) == f"[{big},-{big}]"


def test_text_keeps_its_characters_and_objects_keep_their_order() -> None:
    assert dumps({"b": "你好 😀", "a": [1, 2.5, None, True]}) == '{"b":"你好 😀","a":[1,2.5,null,true]}'


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e400",
        '{"a": 1, "a": 2}',
        '"\\ud83d"',
        '{"\\udcaf": 1}',
        "[" * 101 + "]" * 101,
        "[" * 100_000,
        "9" * 4_301,
        "",
        "{",
        "'a'",
        "[1,]",
        "\ud800",
    ],
)
def test_a_request_may_not_hold_what_json_or_storage_cannot_carry(text: str) -> None:
    with pytest.raises(BadJsonError):
        loads_strict(text)


def test_a_request_may_hold_all_that_json_can() -> None:
    assert loads_strict("[" * 100 + "]" * 100)
    assert loads_strict("9" * 4_300) == int("9" * 4_300)
    assert loads_strict('"\\ud83d\\ude00 \\u0000"') == "😀 \x00"
    assert loads_strict(b"\xef\xbb\xbf1") == 1
    with pytest.raises(BadJsonError):
        loads_strict(b"\xff\xfe1\x00")


def test_what_a_model_returns_is_mended_and_each_change_is_noted() -> None:
    value, notes = loads_mended(
        '{"nan": NaN, "inf": -Infinity, "deep": 1e400, "dup": 1, "dup": 2, "t": "a\\u0000\\ud83d"}'
    )
    assert value == {"nan": None, "inf": None, "deep": None, "dup": 2, "t": "a\ufffd\ufffd"}
    assert [note.split(":")[0] for note in notes] == ["'dup' stood twice", "nan", "inf", "deep", "t"]


def test_what_is_nested_too_deep_or_has_too_many_digits_becomes_null() -> None:
    deep: JsonValue = []
    for _ in range(150):
        deep = [deep]
    mended, notes = mend({"deep": deep, "digits": 10**5_000, "kept": 10**4_000})
    assert isinstance(mended, dict)
    assert mended["digits"] is None
    assert mended["kept"] == 10**4_000
    assert not is_deeper(mended, 100)
    assert len(notes) == 2
    assert loads_mended("9" * 5_000)[0] is None


def test_only_what_cannot_be_stored_is_replaced_in_a_text() -> None:
    assert mend_text("nul:\x00 high:\ud83d low:\udcaf ok:😀 ctrl:\x1b[31m") == (
        "nul:\ufffd high:\ufffd low:\ufffd ok:😀 ctrl:\x1b[31m"
    )


def test_notes_on_many_changes_are_bounded() -> None:
    _, notes = mend([math.nan] * 1_000)
    assert len(notes) == 21
    assert notes[-1] == "and 980 more"
