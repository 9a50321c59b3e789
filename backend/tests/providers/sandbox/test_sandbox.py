"""Programs in the sandbox: what they can do, and that hostile ones are contained."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import JsonValue

from flyback.domain.errors import (
    CodeError,
    CodeMemoryError,
    CodeOffError,
    CodeTimeoutError,
    NodeError,
    OutputTooLargeError,
)
from flyback.providers.sandbox.limits import CodeLimits
from flyback.providers.sandbox.sandbox import MontySandbox

QUICK = CodeLimits(seconds=0.5, grace_seconds=0.3)


@pytest.fixture
async def sandbox() -> AsyncGenerator[MontySandbox]:
    box = MontySandbox(limits=QUICK)
    yield box
    await box.close()


async def result(sandbox: MontySandbox, source: str, inputs: Mapping[str, JsonValue] | None = None) -> JsonValue:
    ran = await sandbox.run(source, inputs or {}, ["result"])
    return ran.values.get("result")


async def test_given_inputs_they_are_variables_and_outputs_are_what_it_leaves_behind(sandbox: MontySandbox) -> None:
    ran = await sandbox.run(
        "names = sorted(item['name'] for item in items)\nbig = n + 1\nprint('done', 1)",
        {"items": [{"name": "b"}, {"name": "a"}], "n": 10**40},
        ["names", "big", "missing"],
    )
    assert ran.values == {"names": ["a", "b"], "big": 10**40 + 1}
    assert ran.printed == "done 1\n"


async def test_given_outputs_that_json_cannot_carry_they_are_mended_with_a_note(sandbox: MontySandbox) -> None:
    ran = await sandbox.run("a = {'n': [float('inf')]}\nb = 1", {}, ["a", "b"])
    assert ran.values == {"a": {"n": [None]}, "b": 1}
    assert ran.mended == ["a: n[0]: a number that JSON cannot carry became null"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("result = (1, 2.5, None, True)", [1, 2.5, None, True]),
        ("result = {'键': 'é\\u2028', 1: 2}", {"键": "é\u2028", "1": 2}),
        ("result = float('nan')", None),
        ("result = 2**70", 2**70),
        ("import json\nresult = json.loads('[1]')", [1]),
        ("import re\nresult = re.findall('a.', 'abac')", ["ab", "ac"]),
        ("result = 5\r\nif True:\r\n    result = 6\r\n", 6),
        ("\ufeffresult = 7", 7),
        ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nresult = f(20)", 2432902008176640000),
        ("str = 1\nlen = 2\nprint = 3\nresult = 'shadowed'", "shadowed"),
        ("scope = 'x = 41'\nexec(scope)\nresult = x + 1", 42),
        ("result = 'last'\n'a value at the end'", "last"),
    ],
)
async def test_given_ordinary_programs_they_run(sandbox: MontySandbox, source: str, expected: JsonValue) -> None:
    assert await result(sandbox, source) == expected


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("a = 1\nb = 1 / 0", 2, "ZeroDivisionError"),
        ("def f():\n    raise ValueError('no')\n\nf()", 2, "ValueError: no"),
        ("a = 1\nb =\n", 2, "Expected an expression"),
        ("result = nothing", 1, "NameError"),
        ("import nothing", 1, "ModuleNotFoundError"),
        ("assert 1 == 2, 'they differ'", 1, "they differ"),
    ],
)
async def test_given_a_wrong_program_the_failure_says_in_which_line_and_why(
    sandbox: MontySandbox, source: str, line: int, said: str
) -> None:
    with pytest.raises(CodeError) as failed:
        await result(sandbox, source)
    assert failed.value.code == "CODE_ERROR"
    assert failed.value.message.startswith(f"line {line}: ")
    assert said in failed.value.message


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    pass\nresult = A()",
        "result = print",
        "result = b'bytes'",
        "result = {1, 2}",
        "result = []\nresult.append(result)",
        "result = []\nfor _ in range(5000):\n    result = [result]",
        "result = 10**5000",
        "result = iter([1])",
        "result = lambda: 1",
        "result = {(1, 2): 3}",
    ],
)
async def test_given_an_output_that_is_no_json_the_failure_names_it(sandbox: MontySandbox, source: str) -> None:
    with pytest.raises(CodeError, match=r"'result'|recursion"):
        await result(sandbox, source)


WALLED = [
    "open('/etc/passwd').read()",
    "open('out.txt', 'w').write('x')",
    "import socket",
    "import subprocess",
    "import ctypes",
    "import multiprocessing",
    "import threading",
    "import importlib",
    "import builtins",
    "import urllib.request",
    "import pydantic_monty",
    "import flyback",
    "import os\nos.system('id')",
    "import os\nos.environ['PATH']",
    "import os\nos.getenv('PATH') + ''",
    "import os\nos.listdir('/')",
    "import os\nos.urandom(16)",
    "import os\nos.kill(1, 9)",
    "import os\nos.fork()",
    "import sys\nsys.modules",
    "import sys\nsys._getframe()",
    "import sys\nsys.set_int_max_str_digits(0)",
    "import pathlib\npathlib.Path('/etc/passwd').read_text()",
    "import pathlib\nlist(pathlib.Path('/').iterdir())",
    "__import__('os').system('id')",
    "eval(\"__import__('os')\")",
    "exec('import socket')",
    "().__class__.__bases__[0].__subclasses__()",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__",
    "print.__self__",
    "def g():\n    yield 1\ng().gi_frame.f_back.f_globals",
    "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_globals",
    "'{0.__class__.__mro__}'.format(1)",
    "import inspect\ninspect.stack()",
    "import gc\ngc.get_objects()",
    "globals()['__builtins__']",
    "input('password?')",
    "breakpoint()",
    "compile('1', 'x', 'eval').co_code",
    "import asyncio\nasyncio.create_subprocess_shell('id')",
    "import pickle\npickle.loads(b'')",
]


@pytest.mark.parametrize("source", WALLED)
async def test_given_a_program_that_reaches_outside_it_finds_a_wall(sandbox: MontySandbox, source: str) -> None:
    with pytest.raises(CodeError):
        await result(sandbox, source)


HUNGRY = [
    "[0] * 10**10",
    "'a' * 10**10",
    "bytes(10**10)",
    "x = 'a'\nwhile True:\n    x = x + x",
    "x = []\nwhile True:\n    x.append('y' * 1000)",
    "x = []\nwhile True:\n    x.append(x[:])",
    "x = {}\ni = 0\nwhile True:\n    x[i] = str(i) * 100\n    i += 1",
    "list(range(10**9))",
    "sorted(range(10**9))",
    "'%0999999999d' % 1",
    "f'{1:>999999999}'",
    "'abc'.replace('', 'x' * 10**7) * 100",
    "2 ** (10**10)",
    "1 << (10**10)",
    "try:\n    [0] * 10**10\nexcept BaseException:\n    pass",
    "import json\njson.dumps(['x' * 10**6] * 100)",
]


@pytest.mark.parametrize("source", HUNGRY)
async def test_given_a_program_that_wants_all_memory_it_is_ended(sandbox: MontySandbox, source: str) -> None:
    with pytest.raises((CodeMemoryError, CodeTimeoutError)):
        await result(sandbox, source)


@pytest.mark.parametrize(
    "source", ["[0] * 10**10", "'a' * 10**10", "2 ** (10**10)", "x = 'a'\nwhile True:\n    x = x + x"]
)
async def test_given_time_enough_it_is_the_memory_that_ends_a_hungry_program(source: str) -> None:
    box = MontySandbox(limits=CodeLimits(seconds=30))
    with pytest.raises(CodeMemoryError, match="64 MiB"):
        await result(box, source)
    await box.close()


ENDLESS = [
    "while True:\n    pass",
    "x = 0\nwhile True:\n    x += 1",
    "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "try:\n    while True:\n        pass\nfinally:\n    while True:\n        pass",
    "sum(range(10**14))",
    "import math\nmath.factorial(10**6)",
    "x = 3\nfor _ in range(40):\n    x = x * x",
    "def f(n):\n    return 1 if n < 2 else f(n - 1) + f(n - 2)\nf(60)",
    "any(i == -1 for i in range(10**14))",
    "import itertools\nfor _ in itertools.count():\n    pass",
    "x = 10**30000\nwhile True:\n    y = x % 7919 + x // 3",
]


@pytest.mark.parametrize("source", ENDLESS)
async def test_given_a_program_without_end_it_is_ended(sandbox: MontySandbox, source: str) -> None:
    with pytest.raises((CodeTimeoutError, CodeMemoryError)):
        await result(sandbox, source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(n):\n    return f(n + 1)\nf(0)",
        "(" * 20_000 + ")" * 20_000,
        "x = " + "-" * 50_000 + "1",
        "+".join(["1"] * 60_000),
        "import json\njson.loads('[' * 1_000_000)",
        "int('9' * 1_000_000)",
        "raise KeyboardInterrupt",
        "raise SystemExit",
        "raise MemoryError",
        "class E(BaseException):\n    pass\nraise E()",
        "import time\nfor _ in range(1000):\n    open('x')",
        "for _ in range(10**6):\n    try:\n        open('x')\n    except BaseException:\n        pass",
        "\ud800",
        "x = '" + "a" * 199_000,
        "#" * 300_000,
    ],
)
async def test_given_a_program_that_is_strange_it_fails_and_nothing_else(sandbox: MontySandbox, source: str) -> None:
    with pytest.raises(NodeError):
        await result(sandbox, source)
    assert await result(sandbox, "result = 1") == 1


async def test_given_a_sleep_it_does_not_wait(sandbox: MontySandbox) -> None:
    assert await result(sandbox, "import time\ntime.sleep(10**6)\nresult = 1") == 1


async def test_given_a_flood_of_printing_it_is_ended(sandbox: MontySandbox) -> None:
    with pytest.raises((OutputTooLargeError, CodeTimeoutError)):
        await result(sandbox, "while True:\n    print('x' * 1000)")
    with pytest.raises(OutputTooLargeError, match="printed"):
        await result(sandbox, "print('x' * 2_000_000)")


async def test_given_outputs_beyond_their_limit_they_are_refused(sandbox: MontySandbox) -> None:
    with pytest.raises(OutputTooLargeError):
        await result(sandbox, "result = 'x' * 2_000_000")
    with pytest.raises(OutputTooLargeError):
        await sandbox.run("a = 'x' * 700_000\nb = 'y' * 700_000", {}, ["a", "b"])


async def test_given_inputs_beyond_their_limit_they_are_refused(sandbox: MontySandbox) -> None:
    with pytest.raises(CodeMemoryError, match="inputs"):
        await result(sandbox, "result = 1", {"x": "y" * 20_000_000})


async def test_given_two_programs_the_second_sees_nothing_of_the_first(sandbox: MontySandbox) -> None:
    await result(sandbox, "left_behind = 'secret'\nresult = 1")
    with pytest.raises(CodeError, match="NameError"):
        await result(sandbox, "result = left_behind")


async def test_given_the_servers_environment_the_process_of_a_program_has_none_of_it(
    sandbox: MontySandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLYBACK_TEST_SECRET", "hunter2-hunter2")
    task = asyncio.create_task(result(sandbox, "while True:\n    pass"))
    seen: list[bytes] = []
    while not task.done():
        await asyncio.sleep(0.02)
        seen += _environments()
    with pytest.raises(CodeTimeoutError):
        await task
    assert seen, "a process was there"
    assert not any(b"hunter2" in environment for environment in seen)


async def test_given_a_program_that_is_cancelled_its_process_ends(sandbox: MontySandbox) -> None:
    box = MontySandbox(limits=CodeLimits(seconds=30))
    task = asyncio.create_task(result(box, "while True:\n    pass"))
    while not _environments():  # noqa: ASYNC110 -- another process does it
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await box.close()


async def test_given_many_programs_at_once_each_gets_its_own_result(sandbox: MontySandbox) -> None:
    results = await asyncio.gather(*(result(sandbox, "result = n * n", {"n": n}) for n in range(20)))
    assert results == [n * n for n in range(20)]


async def test_given_the_switch_is_off_no_program_runs() -> None:
    with pytest.raises(CodeOffError, match="switched off"):
        await MontySandbox(is_on=False).run("result = 1", {}, ["result"])


async def test_given_an_interpreter_that_is_missing_the_failure_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MONTY_BIN", "/no/such/program")
    with pytest.raises(CodeOffError, match="cannot be started"):
        await MontySandbox().run("result = 1", {}, ["result"])


def _environments() -> list[bytes]:
    """The environment of every process that could run a program."""
    found: list[bytes] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):
            if os.readlink(entry / "exe").endswith("/monty"):
                found.append((entry / "environ").read_bytes())
    return found
