"""Which language a workflow's own texts are in: what the planner is told, and tells, is told in it.

Text counts as Chinese when its Han characters outnumber its words in other scripts; a name or a technical term among them
does not change the language. Japanese is told by its kana.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import JsonValue

from flyback.domain.graph import Graph

Language = Literal["en", "zh-CN"]

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA = re.compile("[\u3040-\u30ff]")
_WORD = re.compile("[^\\W\\d_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_REFERENCE = re.compile(r"\{\{[^{}]*\}\}")
_MOST_CHARACTERS = 50_000

_TEXTS = frozenset({"label", "description", "systemPrompt", "userPrompt", "task", "instruction", "prompt"}) | frozenset(
    {"template", "text", "expression"}
)
_LISTS = frozenset({"variables", "outputs", "conditions", "form", "actions"})


def is_chinese(texts: Iterable[str]) -> bool:
    """Whether the texts, taken together, are Chinese. References such as `{{name}}` count for nothing."""
    han = kana = words = 0
    left = _MOST_CHARACTERS
    for text in texts:
        if left <= 0:
            break
        plain = _REFERENCE.sub(" ", text[:left])
        left -= len(plain)
        han += len(_HAN.findall(plain))
        kana += len(_KANA.findall(plain))
        words += len(_WORD.findall(plain))
    return han > words and kana * 10 < han


def language_of(graph: Graph, *texts: str) -> Language:
    """Return the language of a workflow: of its nodes' labels, descriptions and prompts, and of the texts given."""
    return "zh-CN" if is_chinese([*texts, *_texts_of(graph)]) else "en"


def _texts_of(graph: Graph) -> Iterator[str]:
    for node in graph.nodes.values():
        yield from _texts_in(dict(node.data))


def _texts_in(data: JsonValue) -> Iterator[str]:
    if not isinstance(data, dict):
        return
    for key, value in data.items():
        if key in _TEXTS and isinstance(value, str):
            yield value
        elif key in _LISTS and isinstance(value, list):
            for item in value:
                yield from _texts_in(item)
