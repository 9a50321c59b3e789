"""The http node: what it sends, what it gives, and what of it is on record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from flyback.domain.errors import EgressFailedError, EgressRefusedError, EgressUnavailableError
from flyback.domain.events import EventType
from flyback.domain.run import Budget, RunStatus
from flyback.engine.ports import Header, WebAnswer, WebRequest
from kit.studio import SeenRun, Studio

Reply = WebAnswer | Exception


class Web:
    """The outside as a test says it is; it keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.asked: list[WebRequest] = []
        self.came = asyncio.Event()
        self.stopped = asyncio.Event()
        self.hangs = False

    async def fetch(self, request: WebRequest) -> WebAnswer:
        self.asked.append(request)
        self.came.set()
        if self.hangs:
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.set()
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.asked[-1].headers if known == name), None)


def answer(body: str | bytes = "", status: int = 200, headers: Sequence[Header] = ()) -> WebAnswer:
    raw = body.encode() if isinstance(body, str) else body
    return WebAnswer(status, headers, raw, "https://api.example/")


async def call(studio: Studio, web: Web, inputs: dict[str, JsonValue] | None = None, **data: JsonValue) -> SeenRun:
    studio.egress = web
    node: dict[str, JsonValue] = {"type": "http", "url": "https://api.example/", **data}
    return await studio.run(studio.draw("ask -> call -> out", call=node), inputs=inputs or {})


async def test_given_an_answer_in_json_the_node_gives_status_headers_body_and_json(studio: Studio) -> None:
    headers = [("content-type", "application/json"), ("set-cookie", "a=1"), ("set-cookie", "b=2")]
    run = await call(studio, Web(answer('{"n": 10000000000000000000000001, "名": "x"}', headers=headers)))
    assert run.output("call") == {
        "status": 200,
        "headers": {"content-type": "application/json", "set-cookie": "a=1, b=2"},
        "body": '{"n": 10000000000000000000000001, "名": "x"}',
        "json": {"n": 10000000000000000000000001, "名": "x"},
    }


async def test_given_variables_every_field_is_filled_in_and_values_are_encoded(studio: Studio) -> None:
    web = Web(answer())
    await call(
        studio,
        web,
        {"city": "São Paulo", "token": "t0k", "tags": ["a", "b"], "n": 3},
        method="PUT",
        url="https://api.example/{{n}}?x=1",
        query={"q": "{{city}}", "tag": "{{tags}}", "none": None},
        headers=[{"name": "X-City", "value": "in {{n}}"}],
        body={"city": "{{city}}", "n": "{{n}}", "said": 'he said "{{city}}"'},
        auth={"type": "bearer", "token": "{{token}}"},
    )
    (asked,) = web.asked
    assert asked.url == "https://api.example/3?x=1&q=S%C3%A3o+Paulo&tag=a&tag=b"
    assert asked.method == "PUT"
    assert web.header("X-City") == "in 3"
    assert web.header("Authorization") == "Bearer t0k"
    assert web.header("Content-Type") == "application/json"
    assert json.loads(asked.body or b"") == {"city": "São Paulo", "n": 3, "said": 'he said "São Paulo"'}


@pytest.mark.parametrize(
    ("body", "kind", "sent"),
    [
        ('{"q": "{{said}}", "n": {"deep": ["{{n}}"]}}', "json", '{"q":"a \\"b\\"","n":{"deep":[7]}}'),
        ('{"n": {{n}}}', "json", '{"n": 7}'),
        ("{{obj}}", "json", '{"k":[1]}'),
        ("null", "json", "null"),
        ("say {{said}}", "text", 'say a "b"'),
        ({"a": "{{said}}", "b": ["x", "{{n}}"]}, "form", "a=a+%22b%22&b=x&b=7"),
    ],
)
async def test_given_a_body_it_is_sent_as_its_type_says(studio: Studio, body: JsonValue, kind: str, sent: str) -> None:
    web = Web(answer())
    inputs: dict[str, JsonValue] = {"said": 'a "b"', "n": 7, "obj": {"k": [1]}}
    run = await call(studio, web, inputs, method="POST", body=body, bodyType=kind)
    assert run.status is RunStatus.SUCCESS
    assert (web.asked[0].body or b"").decode() == sent


async def test_given_a_body_that_is_no_json_once_filled_in_the_node_says_what_to_do(studio: Studio) -> None:
    web = Web(answer())
    run = await call(studio, web, {"said": "a"}, method="POST", body='{"q": {{said}}}')
    assert run.failure("call").code == "INVALID"
    assert run.failure("call").field == "body"
    assert not web.asked


async def test_given_a_user_and_a_password_they_are_sent_as_basic(studio: Studio) -> None:
    web = Web(answer())
    auth: JsonValue = {"type": "basic", "username": "me", "password": "{{pw}}"}
    await call(studio, web, {"pw": "s3"}, auth=auth, headers={"authorization": "other"})
    assert [value for name, value in web.asked[0].headers if name.lower() == "authorization"] == ["Basic bWU6czM="]


@pytest.mark.parametrize("status", [301, 404, 429, 500, 503])
async def test_given_any_status_it_is_an_output_and_the_call_is_not_repeated(studio: Studio, status: int) -> None:
    web = Web(answer("no", status))
    run = await call(studio, web)
    assert run.output("call")["status"] == status
    assert len(web.asked) == 1


@pytest.mark.parametrize(
    ("method", "status", "attempts"),
    [("GET", 404, 1), ("GET", 500, 4), ("POST", 500, 1), ("POST", 503, 4), ("POST", 429, 4), ("DELETE", 502, 4)],
)
async def test_given_statuses_that_fail_the_node_only_what_may_pass_is_tried_again(
    studio: Studio, method: str, status: int, attempts: int
) -> None:
    web = Web(answer("why", status))
    run = await call(studio, web, method=method, failOnStatus=True)
    assert run.failure("call").code == "HTTP_STATUS"
    assert "why" in run.failure("call").message
    assert len(web.asked) == attempts


async def test_given_a_server_that_names_a_time_the_next_attempt_waits_for_it(studio: Studio) -> None:
    headers = [("retry-after", "7")]
    run = await call(studio, Web(answer("", 429, headers), answer("done")), failOnStatus=True)
    assert run.output("call")["body"] == "done"
    assert 7.0 in studio.clock.slept


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(EgressRefusedError("no"), 1), (EgressFailedError("no"), 1), (EgressUnavailableError("no"), 4)],
)
async def test_given_no_answer_only_what_does_no_harm_is_tried_again(
    studio: Studio, error: Exception, attempts: int
) -> None:
    web = Web(error)
    run = await call(studio, web)
    assert run.status is RunStatus.FAILED
    assert len(web.asked) == attempts


async def test_given_a_call_that_may_change_something_it_carries_a_key_of_its_own_a_reading_one_none(
    studio: Studio,
) -> None:
    web = Web(EgressUnavailableError("no"), answer())
    run = await call(studio, web, method="POST")
    keys = [dict(asked.headers)["Idempotency-Key"] for asked in web.asked]
    assert keys == [f"{run.raw.run_id}/call/tool-1", f"{run.raw.run_id}/call/tool-2"]
    reading = Web(answer())
    await call(studio, reading)
    assert reading.header("Idempotency-Key") is None
    own = Web(answer())
    await call(studio, own, method="POST", headers={"idempotency-key": "mine"})
    assert [value for name, value in own.asked[0].headers if name.lower() == "idempotency-key"] == ["mine"]


async def test_given_a_call_it_is_on_record_without_its_secrets_and_told_as_a_tool_call(studio: Studio) -> None:
    run = await call(
        studio,
        Web(answer("hi", headers=[("set-cookie", "s3cret")])),
        {"t": "s3cret"},
        url="https://api.example/?api_key=s3cret&q=1",
        headers={"X-Api-Key": "{{t}}"},
        auth={"type": "bearer", "token": "{{t}}"},
    )
    (record,) = run.calls
    assert (record.kind, record.role, record.name, record.n) == ("tool", "tool", "http", 1)
    assert "s3cret" not in str(record.request) + str(record.response)
    (told,) = run.events_of(EventType.TOOL_CALL)
    (result,) = run.events_of(EventType.TOOL_RESULT)
    assert told.data["callId"] == result.data["callId"] == "call/tool-1"
    assert told.data["arguments"] == record.request
    assert isinstance(result.data["result"], dict)
    assert result.data["result"]["status"] == 200
    story = run.story
    assert story.index("call RUNNING") < story.index("tool_call") < story.index("tool_result")
    assert story.index("tool_result") < story.index("call SUCCESS")


async def test_given_a_visit_its_tool_calls_stand_between_its_start_and_its_end(studio: Studio) -> None:
    studio.egress = Web(answer("hi"))
    graph = studio.draw("ask -> call -> out", call={"type": "http", "url": "https://api.example/"})
    run = await studio.run(graph, planner=["call", "call", "out"])
    assert run.status is RunStatus.SUCCESS
    calls = run.events_of(EventType.TOOL_CALL)
    assert [event.data["visitId"] for event in calls] == [visit.visit.visit_id for visit in run.visits_of("call")]
    assert all(str(event.data["callId"]).endswith("/tool-1") for event in calls)
    place = run.story.index("tool_call")
    assert run.story[place - 1 : place + 4] == [
        "call RUNNING",
        "tool_call",
        "tool_result",
        "call SUCCESS",
        "visit_recorded",
    ]


async def test_given_a_failed_call_its_error_is_told(studio: Studio) -> None:
    run = await call(studio, Web(EgressRefusedError("no such luck")))
    (result,) = run.events_of(EventType.TOOL_RESULT)
    error = result.data["error"]
    assert isinstance(error, dict)
    assert error["code"] == "EGRESS_REFUSED"
    assert result.data["result"] is None


async def test_given_a_body_that_is_no_text_it_is_given_in_base64(studio: Studio) -> None:
    run = await call(studio, Web(answer(b"\xff\x00\xfe")))
    assert run.output("call")["body"] == "/wD+"
    assert run.meta("call")["bodyEncoding"] == "base64"


async def test_given_another_charset_the_body_is_read_by_it(studio: Studio) -> None:
    run = await call(studio, Web(answer("你好".encode("gbk"), headers=[("content-type", "text/html; charset=GBK")])))
    assert run.output("call")["body"] == "你好"
    assert run.output("call")["json"] is None


async def test_given_a_run_that_is_cancelled_the_call_ends_at_once(studio: Studio) -> None:
    web = Web(answer())
    web.hangs = True
    studio.egress = web
    graph = studio.draw("ask -> call -> out", call={"type": "http", "url": "https://api.example/"})
    run_id = studio.accept(graph)
    task = studio.start(run_id)
    await web.came.wait()
    task.cancel()
    await web.stopped.wait()
    await asyncio.gather(task, return_exceptions=True)


async def test_given_a_driver_that_dies_during_a_call_the_next_one_makes_it_under_the_same_key(studio: Studio) -> None:
    web = Web(answer("done"))
    web.hangs = True
    studio.egress = web
    node: dict[str, JsonValue] = {"type": "http", "url": "https://api.example/", "method": "POST"}
    run_id = studio.accept(studio.draw("ask -> call -> out", call=node))
    dying = studio.start(run_id)
    await web.came.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    # when another takes the run over
    web.hangs = False
    await studio.clock.run_through(studio.start(run_id))
    # then it is the same call, and on record once
    run = studio.look(run_id)
    assert run.status is RunStatus.SUCCESS
    first, second = (dict(asked.headers)["Idempotency-Key"] for asked in web.asked)
    assert first == second
    assert [call.recovered for call in run.calls] == [True]
    told = [event.data for event in run.events_of(EventType.TOOL_CALL)]
    assert [(data["callId"], data.get("recovered")) for data in told] == [("call/tool-1", None), ("call/tool-1", True)]
    assert len(run.events_of(EventType.TOOL_RESULT)) == 1


async def test_given_a_budget_that_is_used_up_no_call_is_made(studio: Studio) -> None:
    web = Web(answer())
    studio.egress = web
    graph = studio.draw("ask -> think -> call -> out", call={"type": "http", "url": "https://api.example/"})
    run = await studio.run(graph, answers=["a long answer " * 50], budget=Budget(tokens=5))
    assert run.status is RunStatus.FAILED
    assert not web.asked
