"""The planner speaks the language of the workflow's own texts."""

from __future__ import annotations

import pytest

from flyback.domain.graph_file import read_graph
from flyback.domain.language import is_chinese, language_of


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("写一篇文章", True),
        ("用 Python 写一个 HTTP server", True),
        ("根据{{user_query}}与{{B.text}}回答", True),
        ("Write an article about 北京", False),
        ("これは日本語の文章です", False),
        ("", False),
        ("123 !?", False),
    ],
)
def test_text_is_chinese_when_its_han_characters_outnumber_other_words(text: str, chinese: bool) -> None:
    assert is_chinese([text]) is chinese


def test_a_workflow_speaks_the_language_of_its_labels_and_prompts() -> None:
    graph, _ = read_graph(
        {
            "nodes": [
                {
                    "id": "ask",
                    "type": "userInput",
                    "data": {"variables": [{"name": "user_query", "label": "你的问题"}]},
                },
                {
                    "id": "draft",
                    "type": "llm",
                    "data": {"model": "some-model-name", "userPrompt": "回答：{{user_query}}"},
                },
                {"id": "c", "type": "condition", "data": {"conditions": [{"type": "IF", "expression": "用户在抱怨"}]}},
            ]
        }
    )
    assert language_of(graph) == "zh-CN"
    assert language_of(read_graph({"nodes": []})[0], "Weather desk") == "en"
    assert language_of(read_graph({"nodes": []})[0], "天气服务") == "zh-CN"
