"""The way without a model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.agentic.drawings import ended, graph_of
from flyback.domain.graph import Graph, NodeId
from flyback.domain.run import StepStatus
from flyback.engine.agentic.fallback import Fallback, fall_back


def way(graph: Graph, node_id: str, *, handle: str | None = "output", failed: bool = False) -> Fallback:
    status = StepStatus.FAILED if failed else StepStatus.SUCCESS
    visit = ended(graph, node_id, handle=handle, status=status)
    return fall_back(graph, visit, cause="MODEL_TIMEOUT: silence", chinese=False)


DRAWN = "a -> b; a -> c; b -> out; c -[branch-0]-> b; c -[branch-1]-> out; b -[error]-> c"


def test_it_follows_the_first_edge_in_canvas_order_whose_handle_the_visit_activated() -> None:
    graph = graph_of(DRAWN)
    assert way(graph, "a").next == "b"
    assert way(graph, "c", handle="branch-1").next == "out"


def test_after_a_failure_that_activated_no_handle_it_follows_the_first_output_edge() -> None:
    assert way(graph_of(DRAWN), "b", handle=None, failed=True).next == "out"


def test_after_a_failure_under_branch_it_follows_the_error_edge() -> None:
    assert way(graph_of(DRAWN), "b", handle="error", failed=True).next == "c"


def test_without_such_an_edge_it_goes_to_the_first_output_node() -> None:
    graph = graph_of("a -> c; c -[branch-0]-> a", nodes={"late": "output", "out": "output", "c": "condition"})
    assert way(graph, "c", handle="branch-7").next == "late"


def test_a_branch_that_was_not_chosen_is_never_followed_even_after_a_failure() -> None:
    graph = graph_of("c -[branch-0]-> a; c -[branch-1]-> b; b -> out", nodes={"c": "condition"})
    assert way(graph, "c", handle="branch-2").next == "out"
    assert way(graph, "c", handle=None, failed=True).next == "out"


def test_the_reason_says_which_way_was_taken_and_why_in_both_languages() -> None:
    graph = graph_of("a -> b; b -[x]-> a", nodes={"out": "output"})
    drawn, lost = ended(graph, "a"), ended(graph, "b")
    assert fall_back(graph, drawn, cause="silence", chinese=False).reason == (
        "Planner failed (silence): followed the first drawn edge"
    )
    assert fall_back(graph, lost, cause="silence", chinese=False).reason == (
        "Planner failed (silence): went to the output node"
    )
    assert fall_back(graph, drawn, cause="silence", chinese=True).reason == "Planner 失败，走画布参考路径"
    assert fall_back(graph, lost, cause="silence", chinese=True).reason == "Planner 失败，强制结束到 output"


_ids = st.sampled_from(["a", "b", "c", "d", "out", "out2"])
_handles = st.sampled_from(["output", "error", "branch-0", "branch-1"])


@given(
    st.lists(st.tuples(_ids, _handles, _ids), max_size=12),
    _ids,
    st.none() | _handles,
    st.booleans(),
    st.text(max_size=30),
)
def test_a_fallback_never_raises_and_follows_only_what_was_activated(
    edges: list[tuple[str, str, str]], node_id: str, handle: str | None, failed: bool, cause: str
) -> None:
    drawn = "; ".join(f"{source} -[{by}]-> {target}" for source, by, target in edges)
    graph = graph_of(drawn, nodes=dict.fromkeys(["a", "b", "c", "d"], "llm") | {"out": "output", "out2": "output"})
    visit = ended(graph, node_id, handle=handle, status=StepStatus.FAILED if failed else StepStatus.SUCCESS)
    chosen = fall_back(graph, visit, cause=cause, chinese=False).next
    activated = handle or ("output" if failed else None)
    targets = [target for source, by, target in edges if source == node_id and by == activated]
    assert chosen == (targets[0] if targets else NodeId("out"))
