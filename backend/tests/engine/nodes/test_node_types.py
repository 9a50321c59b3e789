"""Every node type can be drawn: it has its texts in both languages and a form that stands for itself."""

from __future__ import annotations

import pytest

from flyback.engine.nodes.base import node_types

TYPES = (
    "userInput",
    "llm",
    "agent",
    "skill",
    "condition",
    "template",
    "aggregate",
    "http",
    "code",
    "tool",
    "output",
    "note",
)


def test_the_types_of_the_product_are_registered() -> None:
    assert set(TYPES) <= node_types().keys()


@pytest.mark.parametrize("name", TYPES)
def test_a_type_has_its_texts_in_both_languages(name: str) -> None:
    kind = node_types()[name]
    for texts in (kind.title, kind.summary):
        assert texts.keys() == {"en", "zh-CN"}
        assert all(texts.values())
    assert kind.icon


@pytest.mark.parametrize("name", TYPES)
def test_every_field_of_its_form_has_titles_and_help(name: str) -> None:
    schema = node_types()[name].config_type.model_json_schema(by_alias=True)
    for field, said in schema["properties"].items():
        assert said.get("x-title", {}).keys() == {"en", "zh-CN"}, field
        if field != "label":
            assert said.get("description"), field


@pytest.mark.parametrize("name", TYPES)
def test_an_empty_form_can_be_read_where_nothing_is_required(name: str) -> None:
    kind = node_types()[name]
    data = {
        "agent": {"agentId": "a"},
        "skill": {"agentId": "a"},
        "http": {"url": "https://a.example"},
        "tool": {"server": "a", "tool": "b"},
    }.get(name, {})
    config = kind.config_type.model_validate(data)
    assert config.max_retries == 3
    assert config.timeout_seconds == 600
    assert config.fail_strategy is None
    assert list(kind.handles(config)) == (["branch-0"] if name == "condition" else ["output"])
    assert isinstance(kind.templates(config), dict)
