"""The aggregate node: one value after branches, from whichever of them ran.

In DAG mode the first of its variables that is not empty. In AGENTIC mode several of them may have been written, one after
another, and the one written last counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from pydantic import Field, JsonValue

from flyback.domain.run import Mode
from flyback.domain.template import Found, read_reference
from flyback.domain.workspace import SEPARATOR
from flyback.engine.nodes.base import Data, NodeConfig, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.result import latest_main_value
from flyback.engine.rules import is_empty


class AggregateConfig(NodeConfig):
    variables: list[str] = Field(
        default_factory=list[str],
        description="References to the variables, in order: `{{B.text}}`. Empty: what leads here.",
        json_schema_extra=form(
            "Variables", "变量", editor="references", help_zh="按顺序引用的变量；为空时取通向此处的输出。"
        ),
    )


@final
class AggregateNode(
    NodeType[AggregateConfig],
    type="aggregate",
    category="logic",
    icon="merge",
    title={"en": "Aggregate", "zh-CN": "变量聚合"},
    summary={"en": "Takes the value of the branch that ran.", "zh-CN": "取已执行分支的值。"},
    waits=False,
):
    async def execute(self, config: AggregateConfig, ctx: NodeContext) -> Data:
        """Return `{"value": …}`, null where none of the variables has one."""
        if not config.variables:
            return {"value": _what_leads_here(ctx)}
        found = [
            (name, hit) for name in config.variables if (hit := ctx.find(_optional(name))) and not is_empty(hit.value)
        ]
        if not found:
            return {"value": None}
        if ctx.mode is Mode.AGENTIC:
            found.sort(key=lambda pair: _written_at(ctx, *pair), reverse=True)
        return {"value": found[0][1].value}

    def written_names(self, config: AggregateConfig) -> Sequence[str]:
        return ["value"]

    def templates(self, config: AggregateConfig) -> Mapping[str, str]:
        return {f"variables.{place}": _braced(name) for place, name in enumerate(config.variables)}


def _what_leads_here(ctx: NodeContext) -> JsonValue:
    if ctx.mode is Mode.AGENTIC:
        return latest_main_value(ctx.earlier)
    values = (envelope.main_value for envelope in ctx.live_predecessors)
    return next((value for value in values if not is_empty(value)), None)


def _optional(name: str) -> str:
    """That a branch did not run is what this node is for, and no name that is missing."""
    inner = name.strip().removeprefix("{{").removesuffix("}}").strip().removesuffix("?")
    return f"{inner}?"


def _braced(name: str) -> str:
    return "{{" + _optional(name) + "}}"


def _written_at(ctx: NodeContext, name: str, hit: Found) -> int:
    """The place of a variable in the order last written; of a node's main value, that of the last it wrote."""
    keys = list(ctx.workspace.variables)
    if hit.key is not None:
        return keys.index(hit.key)
    reference = read_reference(name)
    head = reference.names[0] if reference else ""
    owner = head if head in ctx.graph.nodes else ctx.graph.by_label.get(head, head)
    return max((place for place, key in enumerate(keys) if key.startswith(owner + SEPARATOR)), default=-1)
