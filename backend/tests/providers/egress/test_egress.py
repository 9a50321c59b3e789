"""Calls to the outside, against servers on this machine that the list of the operator names, or does not."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncGenerator

import pytest

from flyback.domain.errors import (
    ConfigInvalidError,
    EgressFailedError,
    EgressLimitError,
    EgressRefusedError,
    EgressUnavailableError,
)
from flyback.engine.ports import WebRequest
from flyback.providers.egress.addresses import AllowList
from flyback.providers.egress.egress import HttpEgress
from flyback.providers.egress.limits import EgressLimits
from flyback.providers.system import SystemClock
from kit.web_server import Answer, Asked, NameServer, WebServer, redirect, web_server

OPEN = "127.0.0.1"


@pytest.fixture
async def server() -> AsyncGenerator[WebServer]:
    async with web_server(lambda _: Answer(body=b"hello")) as server:
        yield server


def egress(allowed: str = OPEN, *, names: NameServer | None = None, limits: EgressLimits | None = None) -> HttpEgress:
    return HttpEgress(AllowList.read(allowed), clock=SystemClock(), limits=limits, resolver=names or NameServer({}))


async def test_given_a_listed_address_a_call_brings_status_headers_and_body(server: WebServer) -> None:
    out = egress()
    answer = await out.fetch(WebRequest("POST", f"{server.url}/a?b=c", [("X-One", "1")], b"body"))
    assert (answer.status, answer.body) == (200, b"hello")
    assert dict(answer.headers)["content-length"] == "5"
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/a?b=c", b"body")
    assert asked.headers["x-one"] == "1"
    assert asked.headers["host"] == f"127.0.0.1:{server.port}"
    await out.close()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "017700000001",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[fe80::1%25lo]",
        "0",
    ],
)
async def test_given_an_address_of_this_machine_in_any_spelling_it_is_refused_and_the_setting_is_named(
    host: str,
) -> None:
    out = egress("")
    with pytest.raises(EgressRefusedError) as refused:
        await out.fetch(WebRequest("GET", f"http://{host}:9/"))
    assert "FLYBACK_EGRESS_ALLOW=" in (refused.value.fix or "")
    await out.close()


async def test_given_a_name_that_leads_to_this_machine_it_is_refused(server: WebServer) -> None:
    out = egress("", names=NameServer({"friendly.example": [["127.0.0.1"]]}))
    with pytest.raises(EgressRefusedError, match=r"friendly\.example"):
        await out.fetch(WebRequest("GET", f"http://friendly.example:{server.port}/"))
    assert not server.asked
    await out.close()


async def test_given_a_name_with_a_public_and_a_private_address_it_is_refused_whole() -> None:
    out = egress("", names=NameServer({"mixed.example": [["93.184.216.34", "10.0.0.1"]]}))
    with pytest.raises(EgressRefusedError, match=r"10\.0\.0\.1"):
        await out.fetch(WebRequest("GET", "http://mixed.example/"))
    await out.close()


async def test_given_a_name_that_changes_its_address_between_check_and_call_only_the_checked_one_is_called(
    server: WebServer,
) -> None:
    names = NameServer({"rebind.example": [["127.0.0.1"], ["10.0.0.1"]]})
    out = egress("127.0.0.1", names=names)
    answer = await out.fetch(WebRequest("GET", f"http://rebind.example:{server.port}/"))
    assert answer.body == b"hello"
    assert names.asked == ["rebind.example"], "it is resolved once a connection"
    assert server.asked[0].headers["host"] == f"rebind.example:{server.port}"
    await out.close()


async def test_given_a_listed_port_the_others_of_the_same_address_stay_closed(server: WebServer) -> None:
    out = egress(f"127.0.0.1:{server.port}")
    assert (await out.fetch(WebRequest("GET", server.url))).status == 200
    with pytest.raises(EgressRefusedError):
        await out.fetch(WebRequest("GET", f"http://127.0.0.1:{server.port + 1}/"))
    await out.close()


async def test_given_a_listed_name_it_may_lead_anywhere(server: WebServer) -> None:
    out = egress("intranet.example", names=NameServer({"intranet.example": [["127.0.0.1"]]}))
    assert (await out.fetch(WebRequest("GET", f"http://intranet.example:{server.port}/"))).status == 200
    await out.close()


async def test_given_a_redirect_to_a_private_address_it_is_not_followed() -> None:
    async with web_server(lambda _: redirect("http://169.254.169.254/latest/meta-data")) as server:
        out = egress(f"127.0.0.1:{server.port}")
        with pytest.raises(EgressRefusedError, match=r"169\.254\.169\.254"):
            await out.fetch(WebRequest("GET", server.url))
        await out.close()


@pytest.mark.parametrize("to", ["file:///etc/passwd", "gopher://x/", "http://user:pass@127.0.0.1/", "//:0"])
async def test_given_a_redirect_to_what_is_no_address_it_is_refused(to: str) -> None:
    async with web_server(lambda _: redirect(to)) as server:
        out = egress()
        with pytest.raises(EgressRefusedError):
            await out.fetch(WebRequest("GET", server.url))
        await out.close()


async def test_given_three_redirects_they_are_followed_and_a_fourth_is_not() -> None:
    def hop(asked: Asked) -> Answer:
        left = int(asked.path[1:])
        return redirect(f"/{left - 1}") if left else Answer(body=b"there")

    async with web_server(hop) as server:
        out = egress()
        answer = await out.fetch(WebRequest("GET", f"{server.url}/3"))
        assert (answer.body, answer.url) == (b"there", f"{server.url}/0")
        with pytest.raises(EgressLimitError, match="3 redirects"):
            await out.fetch(WebRequest("GET", f"{server.url}/4"))
        await out.close()


async def test_given_a_redirect_to_another_origin_no_header_of_the_node_goes_along(server: WebServer) -> None:
    async with web_server(lambda _: redirect(f"{server.url}/there")) as first:
        out = egress()
        headers = [
            ("Authorization", "Bearer s3cret"),
            ("X-Api-Key", "s3cret"),
            ("Cookie", "a=s3cret"),
            ("Accept", "text/x"),
        ]
        await out.fetch(WebRequest("GET", first.url, headers))
        await out.close()
    (asked,) = server.asked
    assert "s3cret" not in str(asked.headers)
    assert asked.headers["accept"] == "text/x"


async def test_given_a_redirect_within_the_origin_the_headers_go_along() -> None:
    async with web_server(lambda asked: Answer() if asked.path == "/b" else redirect("/b")) as server:
        out = egress()
        await out.fetch(WebRequest("GET", f"{server.url}/a", [("Authorization", "Bearer s3cret")]))
        await out.close()
        assert server.asked[1].headers["authorization"] == "Bearer s3cret"


async def test_given_a_body_that_would_have_to_be_sent_to_another_origin_the_redirect_is_refused(
    server: WebServer,
) -> None:
    async with web_server(lambda _: redirect(server.url, 307)) as first:
        out = egress()
        with pytest.raises(EgressRefusedError, match="not sent on"):
            await out.fetch(WebRequest("POST", first.url, [], b"s3cret"))
        await out.close()
    assert not server.asked


async def test_given_a_see_other_after_a_post_it_goes_on_as_get_without_the_body() -> None:
    async with web_server(lambda asked: redirect("/b", 303) if asked.method == "POST" else Answer()) as server:
        out = egress()
        await out.fetch(WebRequest("POST", f"{server.url}/a", [("Content-Type", "text/plain")], b"x"))
        await out.close()
        assert (server.asked[1].method, server.asked[1].body) == ("GET", b"")
        assert "content-type" not in server.asked[1].headers


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"])
async def test_given_proxy_variables_they_are_ignored(
    server: WebServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    out = egress()
    assert (await out.fetch(WebRequest("GET", server.url))).body == b"hello"
    await out.close()


async def test_given_a_large_answer_it_is_cut_off_at_the_limit() -> None:
    async with web_server(lambda _: Answer(body=b"x" * 2000)) as server:
        out = egress(limits=EgressLimits(answer_bytes=1000))
        with pytest.raises(EgressLimitError, match="larger"):
            await out.fetch(WebRequest("GET", server.url))
        await out.close()


def bombs() -> list[tuple[str, bytes]]:
    zeros = b"\0" * 3_000_000
    raw = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return [
        ("gzip", gzip.compress(zeros)),
        ("gzip", gzip.compress(b"a") + gzip.compress(zeros)),
        ("deflate", zlib.compress(zeros)),
        ("deflate", raw.compress(zeros) + raw.flush()),
        ("gzip, gzip", gzip.compress(gzip.compress(zeros))),
    ]


@pytest.mark.parametrize(("encoding", "body"), bombs())
async def test_given_a_small_answer_that_unfolds_into_a_large_one_it_is_cut_off_at_the_limit(
    encoding: str, body: bytes
) -> None:
    async with web_server(lambda _: Answer(headers={"Content-Encoding": encoding}, body=body)) as server:
        out = egress(limits=EgressLimits(answer_bytes=1_000_000))
        with pytest.raises(EgressLimitError, match="larger"):
            await out.fetch(WebRequest("GET", server.url))
        await out.close()


async def test_given_a_compressed_answer_it_is_unfolded() -> None:
    async with web_server(
        lambda _: Answer(headers={"Content-Encoding": "gzip"}, body=gzip.compress("很好".encode()))
    ) as server:
        out = egress()
        assert (await out.fetch(WebRequest("GET", server.url))).body.decode() == "很好"
        await out.close()


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"x"), ("gzip", b"no gzip"), ("gzip", gzip.compress(b"abc")[:-4])]
)
async def test_given_an_answer_that_cannot_be_unfolded_it_is_a_failure(encoding: str, body: bytes) -> None:
    async with web_server(lambda _: Answer(headers={"Content-Encoding": encoding}, body=body)) as server:
        out = egress()
        with pytest.raises(EgressFailedError):
            await out.fetch(WebRequest("GET", server.url))
        await out.close()


@pytest.mark.parametrize(("method", "transient"), [("GET", True), ("POST", False)])
async def test_given_a_server_that_does_not_answer_the_call_ends_at_its_limit(method: str, transient: bool) -> None:
    async with web_server(lambda _: Answer(hangs=True)) as server:
        out = egress(limits=EgressLimits(total_seconds=0.2))
        with pytest.raises(EgressLimitError, match=r"0\.2 s") as ended:
            await out.fetch(WebRequest(method, server.url))
        assert ended.value.transient is transient, "what may have been done is not done again"
        await server.hung_up.wait()
        await out.close()


async def test_given_a_call_that_is_cancelled_its_connection_is_closed_at_once() -> None:
    async with web_server(lambda _: Answer(hangs=True)) as server:
        out = egress()
        task = asyncio.create_task(out.fetch(WebRequest("POST", server.url)))
        await server.came.wait()
        task.cancel()
        await server.hung_up.wait()
        with pytest.raises(asyncio.CancelledError):
            await task
        await out.close()


@pytest.mark.parametrize(("method", "transient"), [("GET", True), ("PUT", True), ("POST", False), ("PATCH", False)])
async def test_given_an_answer_that_breaks_off_only_what_may_be_repeated_is_a_fault_that_can_pass(
    method: str, transient: bool
) -> None:
    async with web_server(lambda _: Answer(body=b"half", breaks_off=True)) as server:
        out = egress()
        with pytest.raises(EgressFailedError) as failed:
            await out.fetch(WebRequest(method, server.url))
        assert failed.value.transient is transient
        await out.close()


async def test_given_nobody_who_listens_the_failure_can_pass() -> None:
    out = egress()
    async with web_server(lambda _: Answer()) as server:
        port = server.port
    with pytest.raises(EgressUnavailableError):
        await out.fetch(WebRequest("POST", f"http://127.0.0.1:{port}/"))
    with pytest.raises(EgressUnavailableError, match="no address"):
        await out.fetch(WebRequest("GET", "http://nowhere.example/"))
    await out.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nothing",
        "ftp://host/",
        "http://",
        "http://host:99999/",
        "http://a:b@host/",
        "http://host/a b",
        "http://[::1",
        "http://h/\n",
        "http:\\\\h",
    ],
)
async def test_given_what_is_no_address_the_call_is_refused_as_wrong(url: str) -> None:
    out = egress()
    with pytest.raises(ConfigInvalidError):
        await out.fetch(WebRequest("GET", url))
    await out.close()


@pytest.mark.parametrize("header", [("X", "a\r\nB: c"), ("X\r\nY", "a"), ("Ü", "a"), ("", "a")])
async def test_given_a_header_that_is_none_the_call_is_refused_as_wrong(
    server: WebServer, header: tuple[str, str]
) -> None:
    out = egress()
    with pytest.raises(ConfigInvalidError):
        await out.fetch(WebRequest("GET", server.url, [header]))
    await out.close()


async def test_given_headers_that_steer_the_connection_they_are_left_out(server: WebServer) -> None:
    out = egress()
    headers = [
        ("Host", "evil.example"),
        ("Content-Length", "99"),
        ("Transfer-Encoding", "chunked"),
        ("Accept-Encoding", "br"),
    ]
    await out.fetch(WebRequest("POST", server.url, headers, b"abc"))
    (asked,) = server.asked
    assert asked.headers["host"] == f"127.0.0.1:{server.port}"
    assert asked.body == b"abc"
    assert asked.headers["accept-encoding"] == "gzip, deflate"
    await out.close()


async def test_given_tls_the_certificate_is_checked_against_the_name_and_not_the_address(
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    serving, trusting = certificate
    async with web_server(lambda _: Answer(body=b"safe"), tls=serving) as server:
        names = NameServer({"tls.example": [["127.0.0.1"]], "other.example": [["127.0.0.1"]]})
        out = HttpEgress(AllowList.read(OPEN), clock=SystemClock(), resolver=names, tls=trusting)
        answer = await out.fetch(WebRequest("GET", f"https://tls.example:{server.port}/"))
        assert answer.body == b"safe"
        with pytest.raises(EgressUnavailableError, match=r"other\.example"):
            await out.fetch(WebRequest("GET", f"https://other.example:{server.port}/"))
        await out.close()
