"""Tools of real MCP servers, over stdio and over HTTP: listed, pinned, called, and kept within bounds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from pathlib import Path

import pytest

from flyback.domain.errors import (
    EgressLimitError,
    EgressRefusedError,
    InvalidError,
    ToolFailedError,
    ToolNotAcceptedError,
    ToolUnavailableError,
    ToolUnknownError,
)
from flyback.providers.egress.addresses import AllowList
from flyback.providers.egress.egress import HttpEgress
from flyback.providers.mcp.limits import McpLimits
from flyback.providers.mcp.servers import HttpServer, McpServer, Pins, Shown, StdioServer, read_file, secrets_of
from flyback.providers.mcp.tools import McpTools
from flyback.providers.system import SystemClock
from kit import mcp_server as kit
from kit.web_server import Answer, redirect, web_server

ME = "me"


class Book:
    """The servers that a test says there are."""

    def __init__(self) -> None:
        self.servers: dict[str, McpServer] = {}
        self.pinned: dict[str, Pins] = {}
        self.seen: dict[str, Shown] = {}

    async def find(self, name: str, *, owner_id: str) -> McpServer | None:
        return self.servers.get(name)

    async def pins(self, server: McpServer, *, owner_id: str) -> Pins | None:
        return self.pinned.get(server.id)

    async def pin(self, server: McpServer, pins: Pins, shown: Shown, *, owner_id: str) -> None:
        self.pinned[server.id] = pins
        self.seen[server.id] = shown

    async def shown(self, server: McpServer, *, owner_id: str) -> Shown:
        return self.seen.get(server.id, {})

    def has(self, at: HttpServer | StdioServer, *, of_operator: bool = True, tools: list[str] | None = None) -> None:
        self.servers["s"] = McpServer("id-s", "s", at, of_operator, tools)


@pytest.fixture(scope="module")
def port() -> Generator[int]:
    """The port of a server that lives through all tests that do it no harm."""
    with kit.mcp_server() as port:
        yield port


@pytest.fixture
def book() -> Book:
    return Book()


class Desk:
    """Makes the tools of a book, and closes them."""

    def __init__(self, book: Book, folder: Path) -> None:
        self._book = book
        self._folder = folder
        self._open: list[HttpEgress] = []

    def tools(self, *, limits: McpLimits | None = None, allowed: str = "") -> McpTools:
        clock = SystemClock()
        egress = HttpEgress(AllowList.read(allowed), clock=clock)
        operators = HttpEgress(AllowList.read("127.0.0.1"), clock=clock)
        self._open += [egress, operators]
        return McpTools(
            self._book, egress=egress, operator_egress=operators, clock=clock, log_folder=self._folder, limits=limits
        )

    async def close(self) -> None:
        for egress in self._open:
            await egress.close()


@pytest.fixture
async def desk(book: Book, tmp_path: Path) -> AsyncGenerator[Desk]:
    desk = Desk(book, tmp_path)
    yield desk
    await desk.close()


def stdio(env: Mapping[str, str] | None = None) -> StdioServer:
    return StdioServer(sys.executable, [str(kit.FILE), "stdio"], env or {})


def _lives(pid: int) -> bool:
    """Whether a process works still; one that ended and was not collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def over_http(port: int) -> HttpServer:
    return HttpServer(f"http://127.0.0.1:{port}/mcp")


async def test_given_a_server_over_http_its_tools_are_listed_and_called(book: Book, desk: Desk, port: int) -> None:
    book.has(over_http(port))
    tools = desk.tools()
    listed = {tool.name: tool for tool in await tools.of("s", owner_id=ME)}
    assert listed["add"].description == "Adds two numbers."
    assert listed["add"].qualified_name == "s__add"
    assert listed["add"].schema["required"] == ["a", "b"]
    assert all(tool.accepted for tool in listed.values())
    answer = await tools.call("s", "add", {"a": 2, "b": 3}, owner_id=ME, key="k")
    assert answer.json == {"sum": 5}
    echoed = await tools.call("s", "echo", {"text": "héllo"}, owner_id=ME, key="k")
    assert (echoed.text, echoed.json) == ("héllo", None)
    keyed = await tools.call("s", "key", {}, owner_id=ME, key="run/visit/tool-1")
    assert keyed.text == "run/visit/tool-1"
    with pytest.raises(ToolFailedError, match="because"):
        await tools.call("s", "fail", {"why": "because"}, owner_id=ME, key="k")
    with pytest.raises(ToolFailedError):
        await tools.call("s", "add", {"a": "no number"}, owner_id=ME, key="k")
    with pytest.raises(ToolUnknownError, match="'nothing'"):
        await tools.call("s", "nothing", {}, owner_id=ME, key="k")


async def test_given_a_server_over_stdio_its_process_gets_its_own_environment_and_ends_with_the_call(
    book: Book, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLYBACK_SECRET_KEY", "hunter2")
    book.has(stdio({"GIVEN": "yes"}))
    tools = desk.tools()
    given = await tools.call("s", "environment", {"name": "GIVEN"}, owner_id=ME, key="k")
    kept = await tools.call("s", "environment", {"name": "FLYBACK_SECRET_KEY"}, owner_id=ME, key="k")
    assert (given.text, kept.text) == ("yes", "nothing")


async def test_given_a_tool_that_changes_it_is_disabled_until_it_is_accepted_again(
    book: Book, desk: Desk, port: int
) -> None:
    tools = desk.tools()
    book.has(over_http(port))
    await tools.of("s", owner_id=ME)
    await tools.call("s", "change", {"changed": True}, owner_id=ME, key="k")
    try:
        listed, shown = await tools.shown("s", owner_id=ME)
        assert {tool.name for tool in listed if not tool.accepted} == {"add", "later"}
        for tool in ("add", "later"):
            with pytest.raises(ToolNotAcceptedError):
                await tools.call("s", tool, {"a": 1, "b": 1}, owner_id=ME, key="k")
        assert (await tools.call("s", "echo", {"text": "same"}, owner_id=ME, key="k")).text == "same"
        with pytest.raises(InvalidError, match="changed since"):
            await tools.accept("s", "another hash", owner_id=ME)
        await tools.accept("s", shown, owner_id=ME)
        assert (await tools.call("s", "add", {"a": 1, "b": 1}, owner_id=ME, key="k")).json == {"sum": 2}
    finally:
        await tools.call("s", "change", {"changed": False}, owner_id=ME, key="k")


async def test_given_a_server_that_was_never_looked_at_its_first_call_pins_what_there_is(
    book: Book, desk: Desk, port: int
) -> None:
    tools = desk.tools()
    book.has(over_http(port))
    await tools.call("s", "change", {"changed": True}, owner_id=ME, key="k")
    try:
        with pytest.raises(ToolNotAcceptedError):
            await tools.call("s", "add", {"a": 1, "b": 1}, owner_id=ME, key="k")
    finally:
        await tools.call("s", "change", {"changed": False}, owner_id=ME, key="k")


async def test_given_a_filter_of_the_operator_other_tools_are_not_there(book: Book, desk: Desk, port: int) -> None:
    book.has(over_http(port), tools=["echo"])
    tools = desk.tools()
    assert [tool.name for tool in await tools.of("s", owner_id=ME)] == ["echo"]
    with pytest.raises(ToolUnknownError):
        await tools.call("s", "add", {"a": 1, "b": 1}, owner_id=ME, key="k")


async def test_given_a_server_that_a_person_added_it_is_called_under_the_rules_for_the_outside(
    book: Book, desk: Desk, port: int
) -> None:
    book.has(over_http(port), of_operator=False)
    with pytest.raises(EgressRefusedError, match=r"127\.0\.0\.1"):
        await desk.tools().of("s", owner_id=ME)
    assert await desk.tools(allowed=f"127.0.0.1:{port}").of("s", owner_id=ME)


async def test_given_a_server_that_says_too_much_it_is_cut_off(book: Book, desk: Desk, port: int) -> None:
    tools = desk.tools(limits=McpLimits(answer_bytes=100_000))
    book.has(over_http(port))
    assert (await tools.call("s", "flood", {"size": 10}, owner_id=ME, key="k")).text == "x" * 10
    with pytest.raises(EgressLimitError):
        await tools.call("s", "flood", {"size": 200_000}, owner_id=ME, key="k")
    book.has(stdio())
    with pytest.raises(EgressLimitError):
        await tools.call("s", "flood", {"size": 200_000}, owner_id=ME, key="k")


async def test_given_a_program_that_never_ends_a_line_it_is_cut_off_before_its_time_is_up(
    book: Book, desk: Desk
) -> None:
    book.has(StdioServer(sys.executable, ["-c", "import sys\nwhile True: sys.stdout.write('x' * 65536)"]))
    with pytest.raises(EgressLimitError, match="said more than"):
        await desk.tools(limits=McpLimits(answer_bytes=1_000_000)).of("s", owner_id=ME)


async def test_given_a_program_that_starts_another_both_end_with_the_call(book: Book, desk: Desk) -> None:
    book.has(stdio())
    child = int((await desk.tools().call("s", "spawn", {}, owner_id=ME, key="k")).text)
    while await asyncio.to_thread(_lives, child):  # noqa: ASYNC110 -- another process ends
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("over", ["http", "stdio"])
async def test_given_a_tool_that_never_answers_the_call_ends_at_its_limit_and_when_it_is_cancelled(
    book: Book, desk: Desk, port: int, tmp_path: Path, over: str
) -> None:
    book.has(over_http(port) if over == "http" else stdio())
    arguments = {"mark": str(tmp_path / "first")}
    with pytest.raises(ToolFailedError, match="did not answer"):
        await desk.tools(limits=McpLimits(call_seconds=0.3)).call("s", "hang", arguments, owner_id=ME, key="k")
    second = tmp_path / "second"
    task = asyncio.create_task(desk.tools().call("s", "hang", {"mark": str(second)}, owner_id=ME, key="k"))
    while not await asyncio.to_thread(second.exists):  # noqa: ASYNC110 -- another process does it
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("over", ["http", "stdio"])
async def test_given_a_server_that_dies_during_a_call_the_call_has_failed_and_is_not_a_fault_that_can_pass(
    book: Book, desk: Desk, over: str
) -> None:
    with kit.mcp_server() as port:
        book.has(over_http(port) if over == "http" else stdio())
        with pytest.raises(ToolFailedError) as failed:
            await desk.tools().call("s", "die", {}, owner_id=ME, key="k")
        assert not failed.value.transient


async def test_given_nobody_who_listens_or_no_such_program_the_fault_can_pass(book: Book, desk: Desk) -> None:
    with kit.mcp_server() as port:
        pass
    for at in (
        over_http(port),
        StdioServer("/no/such/program"),
        StdioServer(sys.executable, ["-c", "print('no protocol')"]),
    ):
        book.has(at)
        with pytest.raises(ToolUnavailableError) as failed:
            await desk.tools(limits=McpLimits(listing_seconds=10)).of("s", owner_id=ME)
        assert failed.value.transient


@pytest.mark.parametrize(
    "answer",
    [Answer(404), Answer(500), Answer(200, body=b"<html>"), Answer(200, {"Content-Type": "application/json"}, b"[1]")],
)
async def test_given_a_web_server_that_speaks_something_else_it_cannot_be_talked_to(
    book: Book, desk: Desk, answer: Answer
) -> None:
    async with web_server(lambda _: answer) as server:
        book.has(HttpServer(server.url))
        with pytest.raises((ToolUnavailableError, EgressLimitError)):
            await desk.tools(limits=McpLimits(listing_seconds=3)).of("s", owner_id=ME)


async def test_given_a_server_that_is_silent_listing_ends_at_its_limit(book: Book, desk: Desk) -> None:
    async with web_server(lambda _: Answer(hangs=True)) as server:
        book.has(HttpServer(server.url))
        with pytest.raises(EgressLimitError, match=r"0\.3 s"):
            await desk.tools(limits=McpLimits(listing_seconds=0.3)).of("s", owner_id=ME)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_given_a_server_that_sends_its_callers_elsewhere_nobody_there_sees_the_headers(
    book: Book, desk: Desk, status: int
) -> None:
    async with web_server(lambda _: Answer(404)) as elsewhere:
        async with web_server(lambda _: redirect(elsewhere.url, status)) as server:
            book.has(HttpServer(server.url, {"Authorization": "Bearer t0ken"}))
            with pytest.raises((ToolUnavailableError, EgressLimitError)):
                await desk.tools(limits=McpLimits(listing_seconds=5)).of("s", owner_id=ME)
            assert server.asked
        assert not elsewhere.asked


async def test_given_a_name_that_nobody_has_it_is_unknown(desk: Desk) -> None:
    with pytest.raises(ToolUnknownError):
        await desk.tools().of("nobody", owner_id=ME)


def test_given_the_operators_file_its_servers_are_read_and_variables_filled_in(tmp_path: Path) -> None:
    file = tmp_path / "mcp.toml"
    assert read_file(file, {}) == ()
    file.write_text(
        """
        [servers.files]
        command = "npx"
        args = ["-y", "server", "${ROOT}"]
        env = { TOKEN = "${SECRET}" }
        tools = ["read"]

        [servers.search]
        url = "http://127.0.0.1:9000/mcp"
        headers = { Authorization = "Bearer ${SECRET}" }
        """
    )
    files, search = read_file(file, {"SECRET": "s3cret-s3cret", "ROOT": "/data"})
    assert files.at == StdioServer("npx", ["-y", "server", "/data"], {"TOKEN": "s3cret-s3cret"})
    assert (files.id, files.name, files.tools, files.of_operator) == ("operator-files", "files", ["read"], True)
    assert search.at == HttpServer("http://127.0.0.1:9000/mcp", {"Authorization": "Bearer s3cret-s3cret"})
    assert "s3cret-s3cret" in secrets_of([files, search])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[servers.a]\n", "either a command or a url"),
        ("[servers.a]\ncommand='x'\nurl='y'", "either a command or a url"),
        ("[servers.a]\ncommand='${NOPE}'", "'NOPE', which is not set"),
        ("[servers.'a b']\ncommand='x'", "no name for a server"),
        ("[servers.a]\ncommand=1", "servers.a.command"),
        ("[servers.a]\ncommand='x'\nshell=true", "shell"),
        ("[server.a]\ncommand='x'", "server"),
        ("no toml", "mcp.toml"),
    ],
)
def test_given_a_file_that_cannot_be_used_the_start_is_refused_with_the_place(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "mcp.toml"
    file.write_text(text)
    with pytest.raises(InvalidError) as refused:
        read_file(file, {})
    assert said in refused.value.message
