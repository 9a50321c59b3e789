"""The condition node: picks one branch.

Branches are tried in order. Rules are decided by code; the expressions that stand before the first rules that hold are put
to the model in one call, so that a branch that code has already decided costs nothing. An answer that cannot be read is
asked for once more, then ELSE is taken and the record says why. A model that cannot be reached is a failure of the node.

Edges leave by position: `branch-0` is IF, `branch-1`… the ELIFs in order, the next number ELSE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from flyback.domain.lenient_json import bare_name, objects_in
from flyback.engine.condition_prompt import Question, Words, words
from flyback.engine.given import texts_in
from flyback.engine.nodes.base import Data, NodeConfig, NodeResult, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.ports import ChatModel, Message
from flyback.engine.rules import Operator, holds
from flyback.engine.shown import as_text, cut

_REASON_CHARACTERS = 500
_RAW_CHARACTERS = 2_000


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")


class Rule(_Part):
    variable: str
    operator: Operator
    value: JsonValue = None


class Rules(_Part):
    match: Literal["all", "any"] = "all"
    items: list[Rule] = Field(default_factory=list[Rule])


class Branch(_Part):
    type: Literal["IF", "ELIF"] = "IF"
    expression: str | None = None
    rules: Rules | None = None

    @property
    def is_decided_by_code(self) -> bool:
        return self.rules is not None and bool(self.rules.items)


class ConditionConfig(NodeConfig):
    model: str | None = Field(
        default=None,
        description="The name of a model entry, for the expressions. Empty means the default model.",
        json_schema_extra=form("Model", "模型", editor="model", help_zh="用于判断自然语言条件；为空时使用默认模型。"),
    )
    conditions: list[Branch] = Field(
        default_factory=list[Branch],
        description="IF and ELIF, tried in order; ELSE is always there.",
        json_schema_extra=form(
            "Branches", "分支", editor="conditions", help_zh="按顺序尝试 IF 与 ELIF，ELSE 始终存在。"
        ),
    )


@dataclass(frozen=True, slots=True)
class _Choice:
    branch: int
    reason: str
    meta: Mapping[str, JsonValue]

    @property
    def result(self) -> NodeResult:
        handle = handle_of(self.branch)
        return NodeResult({"branch": handle, "reason": self.reason}, handle, self.meta)


@final
class ConditionNode(
    NodeType[ConditionConfig],
    type="condition",
    category="logic",
    icon="branch",
    title={"en": "Condition", "zh-CN": "条件分支"},
    summary={"en": "Picks a branch by rules or by a model.", "zh-CN": "按规则或由模型选择分支。"},
):
    async def execute(self, config: ConditionConfig, ctx: NodeContext) -> NodeResult:
        """Return `{"branch": handle, "reason": str}` and activate that handle. Raises NodeError."""
        said = words(chinese=ctx.chinese)
        branches = config.conditions
        by_rules = next((n for n, branch in enumerate(branches) if _rules_hold(branch, ctx)), None)
        undecided = [n for n in range(len(branches) if by_rules is None else by_rules) if _is_open(branches[n])]
        otherwise = len(branches) if by_rules is None else by_rules
        if not undecided:
            return _Choice(otherwise, _reason_of_code(branches, by_rules, said), {}).result
        model = await ctx.model(config.model)
        claims = [ctx.render(branches[n].expression or "") for n in undecided]
        question = Question(undecided, claims, otherwise, is_else=by_rules is None)
        if model.decider is not None:
            return (await _judged(model, question, ctx, said)).result
        return (await _asked(model, question, len(branches), ctx, said)).result

    def handles(self, config: ConditionConfig) -> Sequence[str]:
        return [handle_of(n) for n in range(len(config.conditions) + 1)]

    def handle_after_skip(self, config: ConditionConfig, written: Data) -> str:
        """The branch that the default output names, else ELSE: a condition leaves by no other handle."""
        handles = self.handles(config)
        return next((handle for handle in handles if handle == written.get("branch")), handles[-1])

    def written_names(self, config: ConditionConfig) -> Sequence[str]:
        return ["branch", "reason"]

    def templates(self, config: ConditionConfig) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for n, branch in enumerate(config.conditions):
            if branch.is_decided_by_code and branch.rules is not None:
                for place, rule in enumerate(branch.rules.items):
                    found[f"conditions.{n}.rules.{place}.variable"] = _braced(rule.variable)
                    found.update(texts_in(f"conditions.{n}.rules.{place}.value", rule.value))
            elif branch.expression:
                found[f"conditions.{n}.expression"] = branch.expression
        return found


def handle_of(branch: int) -> str:
    return f"branch-{branch}"


# Rules.


def _rules_hold(branch: Branch, ctx: NodeContext) -> bool:
    if branch.rules is None or not branch.rules.items:
        return False
    each = (_rule_holds(rule, ctx) for rule in branch.rules.items)
    return all(each) if branch.rules.match == "all" else any(each)


def _rule_holds(rule: Rule, ctx: NodeContext) -> bool:
    # Whether a variable is there is what some rules ask, so that a missing one is no remark on the record.
    found = ctx.find(_braced(rule.variable))
    return holds(rule.operator, None if found is None else found.value, ctx.filled(rule.value))


def _braced(variable: str) -> str:
    inner = variable.strip().removeprefix("{{").removesuffix("}}").strip().removesuffix("?")
    return "{{" + inner + "?}}"


def _is_open(branch: Branch) -> bool:
    return not branch.is_decided_by_code and bool(branch.expression and branch.expression.strip())


def _reason_of_code(branches: Sequence[Branch], taken: int | None, said: Words) -> str:
    if taken is None:
        return said.no_rule_holds
    rules = branches[taken].rules
    assert rules is not None, "only rules hold by code"
    joined = f" {said.all_of if rules.match == 'all' else said.any_of} ".join(
        " ".join([rule.variable, rule.operator, cut(as_text(rule.value), 60) if rule.value is not None else ""]).strip()
        for rule in rules.items
    )
    return cut(said.rule_holds.format(rules=joined), _REASON_CHARACTERS)


# Expressions.


async def _judged(model: ChatModel, question: Question, ctx: NodeContext, said: Words) -> _Choice:
    """Ask by likelihood: the most likely claim that is more likely true than not."""
    verdict = await ctx.judge(model, question.digest(ctx), question.claims)
    scores = {handle_of(n): round(score, 3) for n, score in zip(question.undecided, verdict.scores, strict=True)}
    best = max(range(len(verdict.scores)), key=verdict.scores.__getitem__)
    meta: dict[str, JsonValue] = {"method": "likelihood", "scores": {**scores}}
    score = verdict.scores[best]
    if score > 0:
        reason = said.judged_true.format(claim=cut(question.claims[best], 200), score=f"{score:.2f}")
        return _Choice(question.undecided[best], reason, meta)
    return _Choice(question.otherwise, said.judged_false.format(score=f"{score:.2f}"), meta)


async def _asked(model: ChatModel, question: Question, else_branch: int, ctx: NodeContext, said: Words) -> _Choice:
    """Ask in words, and once more where the answer cannot be read; then take ELSE."""
    asked = question.messages(ctx, said)
    raw, why = "", ""
    for attempt in (1, 2):
        tried = asked if attempt == 1 else [*asked, Message("assistant", raw), question.again(why, said)]
        reply = await ctx.ask(model, tried, schema=question.schema, streamed=False)
        choice = _read(reply.text, question)
        if choice is not None:
            return choice
        raw, why = reply.text, said.unreadable.format(names=", ".join(question.names))
    meta: dict[str, JsonValue] = {"cause": why, "rawAnswer": cut(raw, _RAW_CHARACTERS)}
    return _Choice(else_branch, said.took_else, meta)


def _read(answer: str, question: Question) -> _Choice | None:
    """Return the choice of the last object whose `branch` names a candidate."""
    for found in reversed(objects_in(answer)):
        branch = _named(found.get("branch"), question)
        if branch is not None:
            reason = found.get("reason")
            return _Choice(branch, cut(as_text(reason), _REASON_CHARACTERS) if reason is not None else "", {})
    return None


def _named(said: JsonValue, question: Question) -> int | None:
    if not isinstance(said, str):
        return None
    if said in question.by_name:
        return question.by_name[said]
    bare = bare_name(said)
    alike = [branch for name, branch in question.by_name.items() if bare_name(name) == bare]
    alike = alike or [
        n for n, claim in zip(question.undecided, question.claims, strict=True) if claim.strip() == said.strip()
    ]
    return alike[0] if len(alike) == 1 else None
