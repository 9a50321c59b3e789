"""The code node: what it hands to the sandbox, and what becomes of what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from pydantic import JsonValue

from flyback.domain.errors import CodeError, CodeTimeoutError
from flyback.domain.run import RunStatus
from flyback.engine.ports import CodeResult
from kit.studio import SeenRun, Studio


class Programs:
    """A sandbox that has run every program already: a test says how it ended."""

    def __init__(self, ended: CodeResult | Exception) -> None:
        self._ended = ended
        self.ran: list[tuple[str, Mapping[str, JsonValue], Sequence[str]]] = []

    async def run(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:
        self.ran.append((source, inputs, outputs))
        if isinstance(self._ended, Exception):
            raise self._ended
        return self._ended


async def compute(
    studio: Studio, programs: Programs, given: dict[str, JsonValue] | None = None, **data: JsonValue
) -> SeenRun:
    studio.sandbox = programs
    node: dict[str, JsonValue] = {"type": "code", "source": "…", **data}
    return await studio.run(studio.draw("ask -> code -> out", code=node), inputs=given or {})


async def test_given_inputs_a_reference_becomes_its_value_and_a_text_is_filled_in(studio: Studio) -> None:
    programs = Programs(CodeResult({"a": [1], "b": None}, ""))
    run = await compute(
        studio,
        programs,
        {"items": [{"n": 1}], "who": "Ada"},
        source="f'{{not}} {a}'",
        inputs={"items": "{{items}}", "hello": "hello {{who}}", "first": "{{items[0].n}}", "n": 3},
        outputs=[{"name": "a"}, {"name": "b"}],
    )
    ((source, inputs, outputs),) = programs.ran
    assert source == "f'{{not}} {a}'", "a program is no template"
    assert inputs == {"items": [{"n": 1}], "hello": "hello Ada", "first": 1, "n": 3}
    assert outputs == ["a", "b"]
    assert run.output("code") == {"a": [1], "b": None}


async def test_what_was_mended_in_its_outputs_is_noted(studio: Studio) -> None:
    run = await compute(studio, Programs(CodeResult({"result": None}, "", ["result: it was no number"])))
    assert run.meta("code")["mended"] == ["result: it was no number"]


@pytest.mark.parametrize(
    ("ran", "result"),
    [
        (CodeResult({"result": 5}, "noise"), 5),
        (CodeResult({}, "printed\n"), "printed\n"),
        (CodeResult({"result": None}, "x"), None),
    ],
)
async def test_given_no_declared_outputs_it_gives_result_else_what_was_printed(
    studio: Studio, ran: CodeResult, result: JsonValue
) -> None:
    run = await compute(studio, Programs(ran))
    assert run.output("code") == {"result": result}
    assert run.meta("code")["printed"] == ran.printed


async def test_given_a_declared_output_that_was_not_set_the_failure_names_it(studio: Studio) -> None:
    run = await compute(studio, Programs(CodeResult({"a": 1}, "")), outputs=[{"name": "a"}, {"name": "b"}])
    assert run.failure("code").code == "CODE_ERROR"
    assert "'b'" in run.failure("code").message


@pytest.mark.parametrize("error", [CodeError("line 1: no"), CodeTimeoutError("too long")])
async def test_given_a_program_that_fails_it_is_not_tried_again(studio: Studio, error: Exception) -> None:
    programs = Programs(error)
    run = await compute(studio, programs)
    assert run.status is RunStatus.FAILED
    assert len(programs.ran) == 1


@pytest.mark.parametrize(
    "data",
    [
        {"inputs": {"a b": 1}},
        {"inputs": {"class": 1}},
        {"inputs": [{"name": "1a", "value": 1}]},
        {"outputs": [{"name": "a-b"}]},
        {"source": "a\0b"},
    ],
)
async def test_given_names_that_no_variable_can_have_it_says_so_before_it_runs(
    studio: Studio, data: dict[str, JsonValue]
) -> None:
    programs = Programs(CodeResult({}, ""))
    run = await compute(studio, programs, None, **data)
    assert run.failure("code").code == "INVALID"
    assert not programs.ran
