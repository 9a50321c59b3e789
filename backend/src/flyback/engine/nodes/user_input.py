"""The userInput node: what a person gives a run.

The first visit takes the run's inputs, if every required value is there. Otherwise, and at every later visit, it takes the
next entry that was queued for it. Where none is left it asks the person: above the form stands why, and what was said
last, and what was given before is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, final

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from flyback.domain.inputs import Variable, read_declared, read_variables
from flyback.domain.pause import Ask
from flyback.engine.forms import filled_in
from flyback.engine.nodes.base import Data, NodeConfig, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.result import latest_main_value
from flyback.engine.shown import as_text


class DeclaredVariable(BaseModel):
    """One variable that is asked for."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")

    name: str
    label: str = ""
    type: Literal["string", "text", "number", "integer", "boolean", "select", "json"] = "string"
    description: str = ""
    required: bool = False
    default: JsonValue = None
    options: list[JsonValue] | None = None


class UserInputConfig(NodeConfig):
    variables: list[DeclaredVariable] = Field(
        default_factory=list[DeclaredVariable],
        description="What is asked for. Each is written under its bare name and under the node's.",
        json_schema_extra=form("Variables", "变量", editor="variables", help_zh="要向用户询问的变量。"),
    )

    @cached_property
    def declared(self) -> Sequence[Variable]:
        return read_declared([variable.model_dump() for variable in self.variables])


@final
class UserInputNode(
    NodeType[UserInputConfig],
    type="userInput",
    category="input",
    icon="user",
    title={"en": "User input", "zh-CN": "用户输入"},
    summary={"en": "Gives the run what a person says.", "zh-CN": "向流程提供用户给出的内容。"},
    waits=False,
):
    async def execute(self, config: UserInputConfig, ctx: NodeContext) -> Data | Ask:
        """Return every declared variable, and what else was queued with them."""
        resumed = ctx.resumed
        if resumed is not None and resumed.reply is not None:
            return resumed.reply.values
        declared = config.declared
        if ctx.is_first_input:
            read = read_variables(declared, ctx.run_inputs)
            if not read.missing and not read.faults:
                return read.values
        queued = ctx.next_queued_input()
        if queued is not None:
            read = read_variables(declared, queued)
            if not read.missing and not read.faults:
                return {**queued, **read.values}
        return Ask("form", filled_in(declared, _given_before(declared, ctx)), prompt=_why(ctx))

    def written_names(self, config: UserInputConfig) -> Sequence[str]:
        return [variable.name for variable in config.variables]


def _given_before(declared: Sequence[Variable], ctx: NodeContext) -> Mapping[str, JsonValue]:
    """What the person said last, under the bare names."""
    variables = ctx.workspace.variables
    return {variable.name: variables[variable.name] for variable in declared if variable.name in variables}


def _why(ctx: NodeContext) -> str:
    """The planner's reason, and what the run has for the person."""
    facts = ctx.visit
    said = latest_main_value(ctx.earlier or ctx.live_predecessors)
    parts = [facts.reason if facts is not None else "", "" if said is None else as_text(said)]
    return "\n\n".join(part for part in parts if part)
