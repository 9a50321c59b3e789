"""Whatever the server says to a person, the Chinese page says in Chinese: its catalog has every sentence, and no other."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic_core import PydanticKnownError
from pydantic_core.core_schema import ErrorType

import flyback
from kit.server_words import words_of

PACKAGE = Path(flyback.__file__).parent
CATALOG = Path(__file__).parents[3] / "web/src/locales/server/zh-CN.json"

ELSEWHERE = (
    "flyback.cli",
    "flyback.main",
    "flyback.storage.migrations",
    "flyback.storage.data_folder",
    "flyback.providers.telemetry",
    "flyback.engine.failpoints",
    "flyback.engine.told",
)
"""What speaks to a terminal, a log or a model, and never on the page."""

SHAPES: Mapping[ErrorType, Mapping[str, str | int]] = {
    "missing": {},
    "extra_forbidden": {},
    "json_invalid": {"error": "…"},
    "none_required": {},
    "greater_than": {"gt": 1},
    "greater_than_equal": {"ge": 1},
    "less_than": {"lt": 1},
    "less_than_equal": {"le": 1},
    "multiple_of": {"multiple_of": 1},
    "finite_number": {},
    "too_short": {"field_type": "List", "min_length": 1, "actual_length": 0},
    "too_long": {"field_type": "List", "max_length": 1, "actual_length": 2},
    "string_type": {},
    "string_too_short": {"min_length": 1},
    "string_too_long": {"max_length": 1},
    "string_pattern_mismatch": {"pattern": "x"},
    "literal_error": {"expected": "x"},
    "enum": {"expected": "x"},
    "dict_type": {},
    "model_type": {"class_name": "x"},
    "model_attributes_type": {},
    "list_type": {},
    "tuple_type": {},
    "bool_type": {},
    "bool_parsing": {},
    "int_type": {},
    "int_parsing": {},
    "int_parsing_size": {},
    "int_from_float": {},
    "float_type": {},
    "float_parsing": {},
    "value_error": {"error": "…"},
    "datetime_type": {},
    "datetime_parsing": {"error": "…"},
    "datetime_from_date_parsing": {"error": "…"},
    "timezone_aware": {},
    "union_tag_invalid": {"tag": "x", "discriminator": "x", "expected_tags": "x"},
    "union_tag_not_found": {"discriminator": "x"},
    "uuid_parsing": {"error": "…"},
}
"""What pydantic says of a request whose shape is not the call's, with an example of what it fills in."""

BROKEN = ("", "{a", "[1 2", '{"a" 1', "1 2", '"a', '"\n"', r'"\x"', r'"\u12"')
"""No JSON, one text for each thing that Python says of it."""


@pytest.fixture(scope="module")
def said() -> Mapping[str, str]:
    """Sentence to where it stands."""
    ours = words_of(PACKAGE, without=ELSEWHERE)
    return {**ours, **{_of_shape(kind): "pydantic" for kind in SHAPES}, **{_of_json(text): "json" for text in BROKEN}}


@pytest.fixture(scope="module")
def catalog() -> Mapping[str, str]:
    return json.loads(CATALOG.read_text("utf-8"))


def test_every_sentence_of_the_server_has_its_chinese(said: Mapping[str, str], catalog: Mapping[str, str]) -> None:
    missing = [f"{place}: {sentence}" for sentence, place in said.items() if sentence not in catalog]
    assert not missing, f"not in {CATALOG.name}, add:\n" + "\n".join(missing)


def test_the_catalog_has_no_sentence_that_nobody_says(said: Mapping[str, str], catalog: Mapping[str, str]) -> None:
    stale = [sentence for sentence in catalog if sentence not in said]
    assert not stale, f"in {CATALOG.name} and no longer in the source, remove:\n" + "\n".join(stale)


def test_a_translation_is_chinese_and_has_the_holes_of_its_sentence(catalog: Mapping[str, str]) -> None:
    for english, chinese in catalog.items():
        holes = set(re.findall(r"\{(\d+)(?:!r|\*)?\}", english))
        assert set(re.findall(r"\{(\d+)\}", chinese)) <= holes, english
        lost = {hole for hole in holes if f"{{{hole}!r}}" in english and f"{{{hole}}}" not in chinese}
        assert not lost, f"names are kept: {english}"
        assert (
            re.search(r"[\u3000-\u9fff\uff00-\uffef]", chinese)
            or chinese == "{0}"
            or not re.search("[a-z]{3} [a-z]{3}", english)
        ), english


def test_the_sentences_stand_in_order(catalog: Mapping[str, str]) -> None:
    assert list(catalog) == sorted(catalog)


def test_a_sentence_is_found_however_it_is_put_together(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "errors.py").write_text(
        "class FlybackError(Exception):\n"
        "    def __init__(self, message, *, fix=None):\n"
        "        self.message = message\n"
        "class SoldOutError(FlybackError): ...\n"
    )
    (package / "__init__.py").write_text(
        "from shop.errors import SoldOutError\n"
        "_FIX = 'Come back '\\\n"
        "    'later.'\n"
        "def sell(what, left, why):\n"
        "    fix = f'Take {left} at most.' if left else _FIX\n"
        "    closed = 'gone' if left == 0 else 'too few'\n"
        "    raise SoldOutError(f'{what!r} is {closed} ({left:,} of {why}).', fix=fix)\n"
        "def refuse(what):\n"
        "    return SoldOutError(f'Not sold: {what}.')\n"
        "def buy(name):\n"
        "    message = 'No name.'\n"
        "    message += f' And {len(name)} more.'\n"
        "    raise refuse('the shop is closed') if name else SoldOutError(message)\n"
        "def talk(log):\n"
        "    log.info('this is for the log')\n"
    )
    assert set(words_of(package)) == {
        "Come back later.",
        "Take {0*} at most.",
        "{0!r} is gone ({1} of {2*}).",
        "{0!r} is too few ({1} of {2*}).",
        "Not sold: {0*}.",
        "the shop is closed",
        "No name.",
        "And {0} more.",
    }


def _of_shape(kind: ErrorType) -> str:
    """The sentence of a kind, as the source's own are written."""
    numbers = itertools.count()
    template = PydanticKnownError(kind, dict(SHAPES[kind])).message_template
    return re.sub(
        r"\{(\w+)\}", lambda found: f"{{{next(numbers)}{'*' if found[1] in ('error', 'expected') else ''}}}", template
    )


def _of_json(text: str) -> str:
    numbers = itertools.count()
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads(text)
    return re.sub(r"\d+", lambda _: f"{{{next(numbers)}}}", str(raised.value))
