"""The scripted model: what a script may say, how it is played, and what is on record of every call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.errors import (
    ConfigInvalidError,
    ModelContextError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
    NodeError,
    ScriptExhaustedError,
)
from flyback.domain.graph import NodeId
from flyback.domain.model_entry import Prices
from flyback.domain.redaction import Redactor
from flyback.domain.run import RunId
from flyback.domain.script import script_faults
from flyback.engine.log import CallRole
from flyback.engine.ports import CallSite, ChatReply, ChatRequest, Message
from flyback.providers.scripted import FileJournal, MemoryJournal, ScriptedCall, ScriptedModel, read_journal


class PatientClock:
    """A clock that does not wait, and keeps how long it was asked to."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        return asyncio.timeout(None)


class StillClock(PatientClock):
    """A clock in which no wait ever ends."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.asked.set()
        await asyncio.Event().wait()


def asking(
    node: str = "w", *, role: CallRole = "node", position: int = 0, script: JsonValue = None, prompt: str = "hello"
) -> ChatRequest:
    site = CallSite(RunId("r1"), NodeId(node), None, role, position + 1, position, script)
    return ChatRequest([Message("system", "be brief"), Message("user", prompt)], site)


def for_node(*replies: Mapping[str, JsonValue], node: str = "w", repeat: bool = False) -> JsonValue:
    return [{"for": {"node": node}, "replies": [dict(reply) for reply in replies], "repeatLast": repeat}]


async def play(model: ScriptedModel, request: ChatRequest) -> tuple[list[str], ChatReply]:
    pieces: list[str] = []
    async for part in model.stream(request):
        if isinstance(part, ChatReply):
            return pieces, part
        pieces.append(part)
    raise AssertionError("the call ended without a reply")


def scripted(script: JsonValue = None, prices: Prices | None = None) -> ScriptedModel:
    return ScriptedModel(clock=PatientClock(), journal=MemoryJournal(), script=script, prices=prices)


async def test_given_a_script_in_the_run_the_reply_is_that_of_the_calls_place() -> None:
    model = scripted()
    script = for_node({"text": "first"}, {"text": "second"})
    assert (await play(model, asking(position=1, script=script)))[1].text == "second"
    assert (await play(model, asking(position=0, script=script)))[1].text == "first"


async def test_given_a_script_of_its_own_the_entry_plays_that_and_not_the_runs() -> None:
    model = scripted(for_node({"text": "own"}))
    assert (await play(model, asking(script=for_node({"text": "the run's"}))))[1].text == "own"


async def test_given_a_repeated_last_reply_every_further_call_has_it() -> None:
    model = scripted(for_node({"text": "a"}, {"text": "b"}, repeat=True))
    assert [(await play(model, asking(position=n)))[1].text for n in range(4)] == ["a", "b", "b", "b"]


async def test_given_no_reply_left_the_call_fails_with_the_node_and_the_count() -> None:
    model = scripted(for_node({"text": "a"}, {"text": "b"}))
    with pytest.raises(
        ScriptExhaustedError, match="2 replies, and all were used for node 'w'; this is call 3"
    ) as caught:
        await play(model, asking(position=2))
    assert caught.value.node == "w"


async def test_given_no_part_for_the_planner_the_call_fails_and_says_so() -> None:
    with pytest.raises(ScriptExhaustedError, match="no reply at all for the planner"):
        await play(scripted(for_node({"text": "a"})), asking(role="planner"))


async def test_given_no_script_anywhere_the_call_fails() -> None:
    with pytest.raises(ScriptExhaustedError, match="has no script"):
        await play(scripted(), asking())


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({"text": "as it is"}, "as it is"),
        ({"textEscaped": r"nul:\u0000 lone:\ud83d ok:\ud83d\ude00"}, "nul:\x00 lone:\ud83d ok:😀"),
        ({"branch": "branch-1"}, '{"branch": "branch-1", "reason": "as scripted"}'),
        ({"next": "b", "reason": "因为"}, '{"next": "b", "reason": "因为"}'),
        ({"tool": {"name": "clarify", "args": {"q": 1}}}, '{"tool": "clarify", "args": {"q": 1}}'),
        ({"echoLastAnswer": "You said: "}, "You said: hello"),
        ({"stream": ["a", "", "b"], "everyMs": 5}, "ab"),
        ({"text": ""}, ""),
    ],
)
async def test_a_reply_in_each_form_gives_its_text(reply: dict[str, JsonValue], text: str) -> None:
    pieces, whole = await play(scripted(for_node(reply)), asking())
    assert whole.text == text
    assert "".join(pieces) == text


async def test_a_streamed_reply_comes_in_its_pieces_and_at_its_pace() -> None:
    clock = PatientClock()
    script = for_node({"stream": ["a", "b", "c"], "everyMs": 40, "delayMs": 2000, "finishReason": "length"})
    model = ScriptedModel(clock=clock, journal=MemoryJournal(), script=script)
    pieces, whole = await play(model, asking())
    assert (pieces, whole.finish_reason, clock.slept) == (["a", "b", "c"], "length", [2.0, 0.04, 0.04])


async def test_usage_is_estimated_and_priced() -> None:
    model = scripted(for_node({"text": "x" * 400}), Prices(1.0, 10.0, "EUR"))
    usage = (await play(model, asking(prompt="y" * 392)))[1].usage
    assert (usage.input_tokens, usage.output_tokens, usage.calls, usage.estimated) == (100, 100, 1, True)
    assert usage.cost == pytest.approx((100 * 1.0 + 100 * 10.0) / 1_000_000)
    assert usage.currency == "EUR"


@pytest.mark.parametrize(
    ("status", "error", "transient"),
    [
        (400, ModelRefusedError, False),
        (401, ModelRefusedError, False),
        (408, ModelTimeoutError, True),
        (413, ModelContextError, False),
        (429, ModelUnavailableError, True),
        (500, ModelUnavailableError, True),
        (529, ModelUnavailableError, True),
    ],
)
async def test_a_scripted_fault_is_the_error_of_that_status(
    status: int, error: type[Exception], transient: bool
) -> None:
    model = scripted(for_node({"httpError": status, "retryAfter": 7}))
    with pytest.raises(error) as caught:
        await play(model, asking())
    assert isinstance(caught.value, NodeError)
    assert caught.value.transient is transient
    if isinstance(caught.value, ModelUnavailableError):
        assert caught.value.retry_after_seconds == 7


async def test_a_call_that_hangs_fails_after_the_time_to_the_first_byte() -> None:
    clock = PatientClock()
    model = ScriptedModel(clock=clock, journal=MemoryJournal(), script=for_node({"hang": True}))
    with pytest.raises(ModelTimeoutError, match="60 s"):
        await play(model, asking())
    assert clock.slept == [60.0]


async def test_given_a_call_that_is_cancelled_it_stands_in_the_journal_as_aborted() -> None:
    journal = MemoryJournal()
    clock = StillClock()
    model = ScriptedModel(clock=clock, journal=journal, script=for_node({"hang": True}))
    waiting = asyncio.ensure_future(play(model, asking()))
    await clock.asked.wait()
    assert not journal.calls[0].ended
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (journal.calls[0].ended, journal.calls[0].aborted) == (True, True)


async def test_given_a_stream_that_is_closed_half_way_it_stands_in_the_journal_as_aborted() -> None:
    journal = MemoryJournal()
    model = ScriptedModel(clock=PatientClock(), journal=journal, script=for_node({"stream": ["a", "b"]}))
    stream = model.stream(asking())
    assert await anext(stream) == "a"
    await stream.aclose()
    assert (journal.calls[0].ended, journal.calls[0].aborted) == (True, True)


async def test_the_journal_file_keeps_every_prompt_and_every_end(tmp_path: Path) -> None:
    # given three calls: one answered, one failed, one that a kill leaves open
    path = tmp_path / "scripted.jsonl"
    script = for_node({"text": "é"}, {"httpError": 500}, {"text": "never read"})
    model = ScriptedModel(clock=PatientClock(), journal=FileJournal(path), script=script)
    await play(model, asking(prompt="first ✅\n"))
    with pytest.raises(ModelUnavailableError):
        await play(model, asking(position=1))
    await FileJournal(path).begin(ScriptedCall("r9/x/node-1", "scripted", "r9", "x", None, "node", 0, []))
    # when the file is read by another process, with a line that was cut
    with path.open("ab") as file:
        file.write(b'{"at": "beg')
    calls = read_journal(path)
    # then all are there, each with its key and how it ended
    assert [(call.key, call.ended, call.aborted, call.error) for call in calls] == [
        ("r1/w/node-1", True, False, None),
        ("r1/w/node-2", True, False, "MODEL_UNAVAILABLE"),
        ("r9/x/node-1", False, False, None),
    ]
    assert calls[0].prompt == [Message("system", "be brief"), Message("user", "first ✅\n")]
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_known_key_in_a_prompt_is_not_written_into_the_journal(tmp_path: Path) -> None:
    redactor, path = Redactor(), tmp_path / "scripted.jsonl"
    redactor.learn('sk-"0123456789"')
    model = ScriptedModel(clock=PatientClock(), journal=FileJournal(path, redactor), script=for_node({"text": "a"}))
    await play(model, asking(prompt='the key is sk-"0123456789".'))
    assert [message.text for message in read_journal(path)[0].prompt] == ["be brief", "the key is [secret]."]


async def test_given_a_journal_that_cannot_be_written_the_call_fails_and_can_be_tried_again(tmp_path: Path) -> None:
    model = ScriptedModel(clock=PatientClock(), journal=FileJournal(tmp_path), script=for_node({"text": "a"}))
    with pytest.raises(ModelUnavailableError, match="journal cannot be written"):
        await play(model, asking())


async def test_given_a_run_whose_script_cannot_be_read_the_node_fails_with_the_place() -> None:
    with pytest.raises(ConfigInvalidError, match=r"script\.0\.replies\.0: a reply has exactly one form"):
        await play(scripted(), asking(script=for_node({"text": "a", "hang": True})))


_FAULTY: list[tuple[JsonValue, list[str]]] = [
    ({}, ["script"]),
    ([{"for": {"nod": "a"}, "replies": []}], ["script.0.for"]),
    ([{"for": {"role": "node"}, "replies": []}], ["script.0.for"]),
    ([{"replies": [{"text": 1}]}], ["script.0.for", "script.0.replies.0.text"]),
    (for_node({}), ["script.0.replies.0"]),
    (for_node({"text": "a"}, {"say": "b"}), ["script.0.replies.1.say"]),
    (for_node({"httpError": 200}), ["script.0.replies.0.httpError"]),
    (for_node({"textEscaped": '"'}), ["script.0.replies.0"]),
    ([{"for": {"node": "a"}, "replies": []}, {"for": {"node": "a"}, "replies": []}], ["script.1.for"]),
]


@pytest.mark.parametrize(("script", "fields"), _FAULTY)
def test_every_fault_of_a_script_is_told_with_its_place(script: JsonValue, fields: list[str]) -> None:
    assert [fault.field for fault in script_faults(script)] == fields


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["for", "node", "role", "replies", "text", "hang", "x"]), inner, max_size=3)
    ),
)


@given(_json)
def test_whatever_stands_in_a_script_it_is_read_or_refused_with_a_field(value: JsonValue) -> None:
    assert all(fault.field and fault.fix for fault in script_faults(value))
