"""What a skill is asked with: its body as instructions, its declared inputs from the workspace as what the user says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from flyback.engine.asking import ask_for_fields, ask_for_text
from flyback.engine.given import named_values
from flyback.engine.nodes.base import NodeConfig, NodeResult, OutputField
from flyback.engine.nodes.context import NodeContext
from flyback.engine.ports import Skill, SkillField
from flyback.engine.result import latest_main_value
from flyback.engine.shown import as_text
from flyback.engine.told import told_after, what_a_visit_is_told


def given_inputs(config: NodeConfig) -> Mapping[str, JsonValue]:
    """Return the node's `inputs` as a mapping, however they were written."""
    return named_values(config.inputs)


def user_message(skill: Skill, config: NodeConfig, task: str, ctx: NodeContext) -> str:
    """Return what the user says: the task, the skill's inputs, and in AGENTIC mode what the visit is told."""
    inputs = _inputs(skill, given_inputs(config), ctx)
    if not inputs and not task.strip():
        task = _what_leads_here(ctx)
    lines = [_line(name, value) for name, value in inputs.items()]
    said = "\n\n".join(part for part in (task.strip(), "\n".join(lines)) if part)
    return told_after(said, what_a_visit_is_told(ctx))


async def ask_skill(
    skill: Skill, config: NodeConfig, model_name: str | None, task: str, ctx: NodeContext
) -> NodeResult:
    """Return the skill's declared outputs, else the node's, else `text`. Raises NodeError."""
    model = await ctx.model(model_name)
    user = user_message(skill, config, task, ctx)
    wanted: Sequence[SkillField] | Sequence[OutputField] = skill.outputs or config.outputs or ()
    if not wanted:
        return await ask_for_text(ctx, model, skill.body, user)
    return await ask_for_fields(ctx, model, skill.body, user, wanted)


def _inputs(skill: Skill, given: Mapping[str, JsonValue], ctx: NodeContext) -> dict[str, JsonValue]:
    """Every declared input that the node gives or the workspace has, and whatever else the node gives."""
    found: dict[str, JsonValue] = {}
    for declared in skill.inputs:
        if declared.name in given:
            continue
        hit = ctx.find(declared.name if declared.required else f"{declared.name}?")
        if hit is not None:
            found[declared.name] = hit.value
    for name, value in given.items():
        found[name] = ctx.render(value) if isinstance(value, str) else value
    return found


def _what_leads_here(ctx: NodeContext) -> str:
    """A skill without declared inputs takes free text: what came before it, at first what the run was given."""
    value = latest_main_value(ctx.live_predecessors or ctx.earlier)
    if value is not None:
        return as_text(value)
    return "\n".join(_line(name, given) for name, given in ctx.run_inputs.items())


def _line(name: str, value: JsonValue) -> str:
    return f"{name}: {as_text(value)}"
