"""The output node: the run's result.

It is filled in from a template, put together from named values, or, when it says neither, what leads to it. A node that the
planner chose and whose references cannot be resolved at all was chosen too early: it fails, and the planner goes on. On
any other way it ends the run, and the result lists what could not be resolved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from pydantic import Field, JsonValue

from flyback.domain.errors import BadJsonError, OutputEmptyError
from flyback.domain.lenient_json import read_value
from flyback.domain.run import Mode
from flyback.domain.template import read_reference
from flyback.engine.nodes.base import Data, NodeConfig, NodeType, OutputField, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.result import OutputType, latest_main_value, together
from flyback.engine.shown import as_text


class OutputConfig(NodeConfig):
    output_type: OutputType = Field(
        default="text",
        description="How the result is given and shown.",
        json_schema_extra=form("Type", "类型", help_zh="结果的形式。"),
    )
    template: str = Field(
        default="",
        description="The result, may name variables. Empty: the outputs below, else what leads here.",
        json_schema_extra=form("Template", "模板", editor="template", help_zh="为空时取下方输出，或通向此处的内容。"),
    )


@final
class OutputNode(
    NodeType[OutputConfig],
    type="output",
    category="output",
    icon="flag",
    title={"en": "Output", "zh-CN": "输出"},
    summary={"en": "Gives the run's result and ends it.", "zh-CN": "给出流程的最终结果。"},
    waits=False,
):
    async def execute(self, config: OutputConfig, ctx: NodeContext) -> Data:
        """Return `{"result": …}`.

        Raises:
            OutputEmptyError: the planner chose it, and none of its references can be resolved.
        """
        if config.template.strip():
            result = _of_template(config, ctx)
        elif config.outputs:
            result = _of_values(config, config.outputs, ctx)
        else:
            result = _of_what_leads_here(config, ctx)
        _refuse_empty(ctx)
        return {"result": result}

    def written_names(self, config: OutputConfig) -> Sequence[str]:
        return ["result"]

    def templates(self, config: OutputConfig) -> Mapping[str, str]:
        found = {"template": config.template}
        for output in config.outputs or ():
            source = _source(output)
            if isinstance(source, str):
                found[f"outputs.{output.name}"] = source
        return found


def _of_template(config: OutputConfig, ctx: NodeContext) -> JsonValue:
    text = ctx.render(config.template)
    if config.output_type != "json":
        return text
    try:
        value, notes = read_value(text)
    except BadJsonError as error:
        ctx.note("notJson", error.message)
        return text
    if notes:
        ctx.note("mended", list(notes))
    return value


def _of_values(config: OutputConfig, outputs: Sequence[OutputField], ctx: NodeContext) -> JsonValue:
    values: dict[str, JsonValue] = {}
    for output in outputs:
        source = _source(output)
        if not isinstance(source, str):
            values[output.name] = source
        elif "{{" in source and read_reference(source) is None:
            values[output.name] = ctx.render(source)
        elif "{{" in source:
            values[output.name] = ctx.value(source)
        else:
            values[output.name] = source
    if config.output_type == "json":
        return values
    if len(values) == 1:
        return as_text(next(iter(values.values())))
    return "\n\n".join(as_text(value) for value in values.values() if value not in (None, ""))


def _source(output: OutputField) -> JsonValue:
    """What an output is filled in from: its `value`, else the variable of its own name."""
    extra = output.model_extra or {}
    value: JsonValue = extra.get("value")
    return "{{" + output.name + "}}" if value is None else value


def _of_what_leads_here(config: OutputConfig, ctx: NodeContext) -> JsonValue:
    if ctx.mode is Mode.DAG:
        return together(ctx.live_predecessors, config.output_type)
    value = latest_main_value(ctx.earlier)
    if config.output_type == "json":
        return value
    return "" if value is None else as_text(value)


def _refuse_empty(ctx: NodeContext) -> None:
    if ctx.mode is Mode.DAG or ctx.chosen_by_fallback or ctx.resolved or not ctx.unresolved:
        return
    names = ", ".join(repr(name) for name in ctx.unresolved)
    raise OutputEmptyError(
        f"node {ctx.node.id!r} has nothing to give yet: nothing has written {names}",
        node=ctx.node.id,
        fix="Visit a node that writes it first, or correct the name.",
    )
