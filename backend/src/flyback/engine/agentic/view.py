"""What the planner sees of a run after a visit: a value made of the chart, the visits so far and the workspace.

The cuts are made here. The output stands on its own and is left out of the variables; what the run was given stands as
the task, always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from flyback.domain.decision import DecisionSource
from flyback.domain.envelope import CONTROL
from flyback.domain.graph import NodeId
from flyback.domain.run import Budget, RunUsage
from flyback.domain.template import Reference, Resolver
from flyback.domain.value import value_type
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace
from flyback.engine.agentic.chain import Chain
from flyback.engine.agentic.chart import Card, Chart, branch_meaning
from flyback.engine.agentic.fallback import drawn_way
from flyback.engine.shown import as_text, cut, latest_variables, output_text

TOOL_CALLS = "toolCalls"
"""In an envelope's `meta`: the calls an agent made, as `[{name, result}]`, in order."""

_TOOL_CALLS = 10
_TOOL_RESULT_CHARACTERS = 200
_DECISIONS = 10
_WITHOUT_PROGRESS = 3


@value_type
class Named:
    """A value under its name, as it is shown."""

    name: str
    text: str
    line: str
    """Both, put together once: a variable is shown after many visits."""

    @classmethod
    def of(cls, name: str, text: str) -> Named:
        return cls(name, text, f"{name}: {text}")


@value_type
class Branch:
    """The branch that a condition chose."""

    handle: str
    meaning: str
    leads_to: NodeId | None
    """None where no edge leaves by it."""


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str
    hint: NodeId | None
    """Where the error edge leads, under the strategy `branch`."""


@value_type
class Choice:
    """A node that may be chosen."""

    card: Card
    visits: int
    unwritten: tuple[str, ...] = ()
    """Of an output node: which of its references nothing has written yet."""


@value_type
class Taken:
    """A decision of this run."""

    after: NodeId
    next: NodeId
    source: DecisionSource
    reason: str


@dataclass(frozen=True, slots=True)
class BudgetLeft:
    tokens: int | None
    seconds: float | None
    cost: float | None
    currency: str | None


@value_type
class PlannerView:
    chart: Chart
    task: Sequence[Named]
    current: Visit
    signals: str
    control: str
    output: str
    """Empty where there is none."""
    failure: Failure | None
    branch: Branch | None
    tool_calls: Sequence[Named]
    variables: Sequence[Named]
    """Those written last, the latest first."""
    choices: Sequence[Choice]
    decisions: Sequence[Taken]
    """The last ones, in order."""
    visits_left: int
    budget_left: BudgetLeft | None
    no_progress: bool
    """Whether three visits of one node in a row left the workspace as it was. Said once."""


class Viewer:
    """Makes the views of one run."""

    def __init__(self, chart: Chart, inputs: Mapping[str, JsonValue], *, max_visits: int, budget: Budget) -> None:
        self.chart = chart
        self._inputs = inputs
        self._max_visits = max_visits
        self._budget = budget
        self._task = tuple(Named.of(name, cut(as_text(value))) for name, value in inputs.items())
        self._shown: dict[str, tuple[int, Named]] = {}
        """Variable to who wrote it and how it is shown."""
        self._known: dict[NodeId, Choice] = {}
        self._taken: list[Taken] = []
        self._seen = 0
        """How many visits' decisions are taken in."""
        self._unwritten = {node_id: wanted for node_id, wanted in chart.wanted.items() if wanted}

    def look(self, chain: Chain, usage: RunUsage) -> PlannerView:
        """Return what the planner sees after the last visit of the chain, which has ended."""
        current = chain.last
        envelope = current.envelope
        control = envelope.data.get(CONTROL) if envelope else None
        return PlannerView(
            chart=self.chart,
            task=self._task,
            current=current,
            signals=cut(as_text(dict(envelope.signals))) if envelope and envelope.signals else "",
            control=cut(as_text(control)) if control is not None else "",
            output=output_text(envelope),
            failure=self._failure(current),
            branch=self._branch(current),
            tool_calls=_tool_calls(current),
            variables=self._variables(chain),
            choices=self._choices(chain),
            decisions=self._decisions(chain),
            visits_left=self._max_visits - len(chain.visits),
            budget_left=_budget_left(self._budget, usage),
            no_progress=chain.same_in_a_row == _WITHOUT_PROGRESS,
        )

    def _failure(self, visit: Visit) -> Failure | None:
        if visit.error is None:
            return None
        edge = drawn_way(self.chart.graph, visit) if visit.handle == "error" else None
        return Failure(visit.error.code, cut(visit.error.message), edge.target if edge else None)

    def _branch(self, visit: Visit) -> Branch | None:
        if visit.node_type != "condition" or visit.handle is None or visit.error is not None:
            return None
        graph = self.chart.graph
        edge = drawn_way(graph, visit)
        node = graph.nodes.get(visit.node_id)
        meaning = cut(branch_meaning(node, visit.handle)) if node else ""
        return Branch(visit.handle, meaning, edge.target if edge else None)

    def _variables(self, chain: Chain) -> list[Named]:
        workspace = chain.workspace
        latest = latest_variables(workspace, without_writer=chain.last.sort_order, without=self._inputs)
        shown, writers = self._shown, workspace.writers
        variables: list[Named] = []
        for name, value in latest:
            # What nobody wrote again is shown as before.
            known = shown.get(name)
            if known is None or known[0] != writers[name]:
                known = shown[name] = (writers[name], Named.of(name, cut(as_text(value))))
            variables.append(known[1])
        return variables

    def _choices(self, chain: Chain) -> list[Choice]:
        if self._unwritten:
            self._look_for_unwritten(chain.workspace)
        return [self._choice(card, chain.times_visited(node_id)) for node_id, card in self.chart.cards.items()]

    def _choice(self, card: Card, visits: int) -> Choice:
        """Return the same object as before where nothing has changed."""
        unwritten = self._unwritten.get(card.node_id, ())
        known = self._known.get(card.node_id)
        if known is None or known.visits != visits or len(known.unwritten) != len(unwritten):
            names = tuple(reference.name for reference in unwritten)
            known = self._known[card.node_id] = Choice(card, visits, names)
        return known

    def _look_for_unwritten(self, workspace: Workspace) -> None:
        """Keep the references that still name nothing. One that was found stays found: no variable ever leaves."""
        resolver = Resolver(self.chart.graph, workspace, {})
        self._unwritten = {
            node_id: still for node_id, wanted in self._unwritten.items() if (still := _not_found(wanted, resolver))
        }

    def _decisions(self, chain: Chain) -> list[Taken]:
        """Return the last decisions. Those that were shown before are kept: a decision never changes."""
        for visit in chain.visits[self._seen : -1]:
            decision = visit.decision
            if decision is not None:
                self._taken.append(Taken(visit.node_id, decision.next, decision.source, decision.reason))
        self._seen = len(chain.visits) - 1
        return self._taken[-_DECISIONS:]


def _not_found(wanted: Sequence[Reference], resolver: Resolver) -> tuple[Reference, ...]:
    return tuple(reference for reference in wanted if not resolver.knows(reference))


def _tool_calls(visit: Visit) -> list[Named]:
    listed = visit.envelope.meta.get(TOOL_CALLS) if visit.envelope else None
    if not isinstance(listed, list):
        return []
    calls = [call for call in listed[-_TOOL_CALLS:] if isinstance(call, dict)]
    return [
        Named.of(as_text(call.get("name")), cut(as_text(call.get("result", "")), _TOOL_RESULT_CHARACTERS))
        for call in calls
    ]


def _budget_left(budget: Budget, usage: RunUsage) -> BudgetLeft | None:
    if budget.tokens is None and budget.seconds is None and budget.cost is None:
        return None
    total = usage.total
    return BudgetLeft(
        tokens=None if budget.tokens is None else max(0, budget.tokens - total.tokens),
        seconds=None if budget.seconds is None else max(0.0, budget.seconds - usage.driven_seconds),
        cost=None if budget.cost is None else max(0.0, budget.cost - (total.cost or 0.0)),
        currency=total.currency,
    )
