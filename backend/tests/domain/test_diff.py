"""What a visit added and overwrote, and who wrote it before."""

from __future__ import annotations

from flyback.domain.diff import Added, Overwritten, workspace_diff
from flyback.domain.envelope import Envelope
from flyback.domain.graph import NodeId
from flyback.domain.workspace import Workspace


def test_a_diff_names_what_was_added_overwritten_and_left_as_it_was() -> None:
    start = Workspace.of_inputs({"topic": "tides", "tone": "calm"})
    first = start.after(Envelope(NodeId("a"), "llm", {"text": "one"}), writer=0)
    second = first.after(Envelope(NodeId("a"), "llm", {"text": "two", "note": None}), writer=3)
    diff = workspace_diff(first, second)
    assert diff.added == (Added("a__note", None, 3),)
    assert diff.overwritten == (Overwritten("a__text", "one", "two", 0, 3),)
    assert diff.unchanged == ("topic", "tone")
    assert diff.removed == ()
    assert workspace_diff(second, start).removed == ("a__text", "a__note")


def test_the_same_value_written_again_is_overwritten() -> None:
    first = Workspace.of_inputs({}).after(Envelope(NodeId("a"), "llm", {"text": "same"}), writer=0)
    second = first.after(Envelope(NodeId("a"), "llm", {"text": "same"}), writer=1)
    assert [change.name for change in workspace_diff(first, second).overwritten] == ["a__text"]


def test_an_edit_is_seen_by_its_value() -> None:
    before, after = Workspace.of_inputs({"n": 1, "m": {"k": 1}}), Workspace.of_inputs({"n": True, "m": {"k": 1}})
    diff = workspace_diff(before, after)
    assert ([change.name for change in diff.overwritten], diff.unchanged) == (["n"], ("m",))
