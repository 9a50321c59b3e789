"""The iteration node: a workflow runs once for each item of a list, several at a time.

Each inner run sees `item` and `index`. Results stand in the order of the items, however the runs ended. An item that was
done is never done again, whatever happens to the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, final

from pydantic import Field, JsonValue

from flyback.domain.errors import BadJsonError, ItemsInvalidError
from flyback.domain.graph import Node
from flyback.domain.lenient_json import read_value
from flyback.domain.pause import Ask
from flyback.domain.run import RunStatus
from flyback.engine.called import CallingConfig
from flyback.engine.given import texts_in
from flyback.engine.log import SubRun
from flyback.engine.nodes.base import NodeResult, NodeType, form
from flyback.engine.nodes.context import INDEX, ITEM, Called, NodeContext
from flyback.engine.nodes.workflow import SUB_RUNS, result_of

MAX_ITEMS = 1_000
RESULTS = "results"
ERRORS = "errors"

_SHOWN_CHARACTERS = 80


class IterationConfig(CallingConfig):
    items: str | list[JsonValue] = Field(
        default="",
        description="A list, or a reference to one: {{name}}. A text that holds a JSON list is one too.",
        json_schema_extra=form(
            "Items", "列表", editor="template", help_zh="列表或对列表的引用：{{name}}；内容为 JSON 数组的文本也可以。"
        ),
    )
    parallel: int = Field(
        default=4,
        ge=1,
        le=16,
        description="How many items are worked on at once. One that waits for a person keeps its place.",
        json_schema_extra=form("At once", "并行数", help_zh="同时处理的条目数；等待人工的条目占用名额。"),
    )
    on_item_error: Literal["fail", "continue"] = Field(
        default="fail",
        description="When an item fails: fail and stop the others, or continue, with null in its place.",
        json_schema_extra=form(
            "If an item fails", "条目失败时", help_zh="fail：节点失败并停止其余条目；continue：继续，该位置为 null。"
        ),
    )


@final
class IterationNode(
    NodeType[IterationConfig],
    type="iteration",
    category="logic",
    icon="iteration",
    title={"en": "For each", "zh-CN": "迭代"},
    summary={
        "en": "Runs a workflow for each item of a list.",
        "zh-CN": "对列表的每个条目执行一次工作流。",
    },
    starts_runs=True,
):
    async def execute(self, config: IterationConfig, ctx: NodeContext) -> NodeResult | Ask:
        """Return `results` in the order of the items, null where one failed, and `errors`: `{index, runId, code,
        message}` of each of these.

        Raises:
            ItemsInvalidError: there is no list, or more items than can be gone through.
            SubRunFailedError: an item failed, and the others were not to go on.
            NotFoundError, NodeError: the workflow could not be started.
        """
        items = _items(ctx.node, ctx.filled(config.items))

        def inputs(index: int) -> Mapping[str, JsonValue]:
            at_item = ctx.with_item(items[index], index)
            given = {name: at_item.filled(value) for name, value in config.given.items()}
            return {ITEM: items[index], INDEX: index, **given}

        ran = await ctx.run_each(
            Called(
                config.called,
                inputs,
                config.chosen_version,
                count=len(items),
                parallel=config.parallel,
                goes_on=config.on_item_error == "continue",
            )
        )
        return ran if isinstance(ran, Ask) else _gathered(ran)

    def written_names(self, config: IterationConfig) -> Sequence[str]:
        return [RESULTS, ERRORS]

    def templates(self, config: IterationConfig) -> Mapping[str, str]:
        return {**dict(texts_in("items", config.items)), **config.given_texts}


def _gathered(ran: Sequence[SubRun]) -> NodeResult:
    results: list[JsonValue] = []
    errors: list[JsonValue] = []
    for one in ran:
        if one.status is RunStatus.SUCCESS:
            results.append(result_of(one.outputs))
            continue
        results.append(None)
        code, message = ("CANCELLED", "it was cancelled") if one.error is None else (one.error.code, one.error.message)
        errors.append({INDEX: one.index, "runId": one.run_id, "code": code, "message": message})
    return NodeResult({RESULTS: results, ERRORS: errors}, meta={SUB_RUNS: [one.run_id for one in ran]})


def _items(node: Node, given: JsonValue) -> list[JsonValue]:
    items = _listed(given) if isinstance(given, str) else given
    if not isinstance(items, list):
        raise ItemsInvalidError(
            f"node {node.id!r} goes through a list, and got {_shown(given)}",
            node=node.id,
            field="items",
            fix="Name a variable that holds a list. A path into a value finds one: {{node.items}}.",
        )
    if len(items) > MAX_ITEMS:
        raise ItemsInvalidError(
            f"node {node.id!r} got {len(items):,} items; at most {MAX_ITEMS:,} are gone through",
            node=node.id,
            field="items",
            fix="Cut the list before, or let each item be a batch.",
        )
    return items


def _listed(text: str) -> JsonValue:
    try:
        return read_value(text)[0]
    except BadJsonError:
        return text


def _shown(value: JsonValue) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the value {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case dict():
            return f"an object with the keys {', '.join(map(repr, list(value)[:5]))}" if value else "an empty object"
        case _:
            text = " ".join(str(value).split())
            cut = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
            return f"the text {cut!r}" if cut else "an empty text"
