"""What the end of a program means. Imported with the first program, like the library whose words it knows."""

from __future__ import annotations

from pydantic_monty import Frame, MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError

from flyback.domain.errors import CodeError, CodeMemoryError, CodeTimeoutError, NodeError, OutputTooLargeError
from flyback.providers.sandbox.limits import CodeLimits

_SAID_CHARACTERS = 500
_MIB = 1024 * 1024
_PROGRAM = "<python-input-0>"
_TIME_IS_UP = "time limit exceeded"
_MEMORY = ("memory limit exceeded", "the worker exceeded its memory limit")


def is_a_limit(error: MontyRuntimeError) -> bool:
    """Whether the interpreter ended the program, and not the program itself."""
    said = str(error)
    inner = error.exception()
    return (isinstance(inner, TimeoutError) and _TIME_IS_UP in said) or (
        isinstance(inner, MemoryError) and any(words in said for words in _MEMORY)
    )


def fault_of(error: Exception, limits: CodeLimits) -> NodeError:
    match error:
        case MontyCrashedError():
            return _time_is_up(limits) if error.timed_out else _memory(limits)
        case MontyRuntimeError() if is_a_limit(error):
            if isinstance(error.exception(), TimeoutError):
                return _time_is_up(limits)
            printed = f"> {limits.output_bytes} bytes" in str(error)
            return _printed_too_much(limits) if printed else _memory(limits)
        case MontyRuntimeError():
            return _wrong(error.traceback(), error.display("type-msg"))
        case MontySyntaxError():
            return _wrong(error.traceback(), error.display("type-msg"))
        case MontyError():
            return _wrong([], str(error))
        case _:
            return _wrong([], f"{type(error).__name__}: {error}")


def _wrong(frames: list[Frame], said: str) -> CodeError:
    line = next((frame.line for frame in reversed(frames) if frame.filename == _PROGRAM), None)
    where = f"line {line}: " if line is not None else ""
    what = said if len(said) <= _SAID_CHARACTERS else said[: _SAID_CHARACTERS - 1] + "…"
    return CodeError(where + what, field="source", fix="Correct the program; it can be tried with the node's test.")


def _time_is_up(limits: CodeLimits) -> CodeTimeoutError:
    return CodeTimeoutError(
        f"the program was ended after {limits.seconds:g} s", field="source", fix="Let it do less in one run."
    )


def _memory(limits: CodeLimits) -> CodeMemoryError:
    return CodeMemoryError(
        f"the program was ended: it wanted more than {limits.memory_bytes // _MIB} MiB of memory",
        field="source",
        fix="Let it hold less at a time.",
    )


def _printed_too_much(limits: CodeLimits) -> OutputTooLargeError:
    return OutputTooLargeError(
        f"the program was ended: it printed more than {limits.output_bytes / _MIB:g} MiB",
        field="source",
        fix="Print less, and give values out as outputs.",
    )
