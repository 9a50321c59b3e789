"""The workflow node: another workflow runs inside this run, and its results are this node's outputs.

The inner run is a run of its own, with its own record; it shares the budget, the cancel and the worker of the outer one. A
question in it pauses both, and the answer lets both go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from pydantic import JsonValue

from flyback.domain.pause import Ask
from flyback.domain.run import RunOutput
from flyback.engine.called import CallingConfig
from flyback.engine.nodes.base import NodeResult, NodeType
from flyback.engine.nodes.context import Called, NodeContext

RESULT = "result"
SUB_RUNS = "subRuns"
"""In the envelope's `meta`: the ids of the runs, in the order of their items."""


class WorkflowConfig(CallingConfig):
    pass


@final
class WorkflowNode(
    NodeType[WorkflowConfig],
    type="workflow",
    category="logic",
    icon="workflow",
    title={"en": "Workflow", "zh-CN": "子工作流"},
    summary={"en": "Runs another workflow inside this run.", "zh-CN": "在本次运行中执行另一个工作流。"},
    starts_runs=True,
):
    async def execute(self, config: WorkflowConfig, ctx: NodeContext) -> NodeResult | Ask:
        """Return `result`, the inner run's result (of several output nodes an object by their ids), and the declared
        outputs, taken from it by name.

        Raises:
            SubRunFailedError: the inner run did not succeed.
            NotFoundError, NodeError: it could not be started.
        """
        inputs = {name: ctx.filled(value) for name, value in config.given.items()}
        ran = await ctx.run_each(Called(config.called, lambda _: inputs, config.chosen_version))
        if isinstance(ran, Ask):
            return ran
        (one,) = ran
        result = result_of(one.outputs)
        fields = result if isinstance(result, dict) else {}
        declared = {output.name: fields.get(output.name) for output in config.outputs or ()}
        return NodeResult({RESULT: result, **declared}, meta={SUB_RUNS: [one.run_id]})

    def written_names(self, config: WorkflowConfig) -> Sequence[str]:
        return [RESULT, *(output.name for output in config.outputs or ())]

    def templates(self, config: WorkflowConfig) -> Mapping[str, str]:
        return config.given_texts


def result_of(outputs: Sequence[RunOutput]) -> JsonValue:
    """Return the result of the only output node, of several an object by their ids."""
    results = {output.node_id: output.result for output in outputs}
    return next(iter(results.values())) if len(results) == 1 else results
