"""How the domain's values are written into JSON columns, in the wire's form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import cast

import orjson
from pydantic import JsonValue

from flyback.domain import json_value
from flyback.domain.envelope import Envelope
from flyback.domain.json_value import mend_text
from flyback.domain.pause import Pause, actions_on_wire, question_on_wire
from flyback.domain.redaction import Redactor
from flyback.domain.snapshot import cut_values
from flyback.domain.value import value_type
from flyback.domain.wire import error_on_wire, time_on_wire, usage_on_wire
from flyback.engine.log import CallRecord, RunOptions
from flyback.storage.blobs import ROW_LIMIT_BYTES

EVENT_OUTPUT_BYTES = 64 * 1024
_BESIDE_BYTES = 8 * 1024
"""What `meta` and `signals` may take of it, each."""
_REST_BYTES = 1024
"""For ids and braces."""
CALL_BYTES = 256 * 1024
"""What is kept of each, request and response, of one call."""


@value_type
class EncodedEnvelope:
    """An envelope as JSON, made once for its row and its events."""

    whole: bytes
    in_event: bytes
    """Cut by whole values where the whole is too large for an event."""

    @property
    def is_cut(self) -> bool:
        return self.whole is not self.in_event

    @property
    def needs_blob(self) -> bool:
        return len(self.whole) > ROW_LIMIT_BYTES


class Encoder:
    """Encodes what belongs to one commit, each envelope once."""

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._envelopes: dict[int, tuple[Envelope, EncodedEnvelope]] = {}

    def envelope(self, envelope: Envelope) -> EncodedEnvelope:
        known = self._envelopes.get(id(envelope))
        if known is not None:
            return known[1]
        encoded = _encoded(envelope, self._redactor)
        self._envelopes[id(envelope)] = (envelope, encoded)  # held, so that its id stays its own
        return encoded

    def event(self, data: Mapping[str, object]) -> str:
        """Return an event's data as JSON, on one line; what was cut is marked, with its size in bytes."""
        plain: dict[str, object] = dict(data)
        for name, value in data.items():
            if isinstance(value, Envelope):
                encoded = self.envelope(value)
                plain[name] = orjson.Fragment(encoded.in_event)
                if encoded.is_cut:
                    plain[f"{name}Truncated"] = True
                    plain[f"{name}Size"] = len(encoded.whole)
        try:
            return self._redactor.text(orjson.dumps(plain).decode())
        except TypeError:  # what orjson cannot carry exactly
            exact = {
                name: json_value.loads(self.envelope(value).in_event) if isinstance(value, Envelope) else plain[name]
                for name, value in {**plain, **data}.items()
            }
            return self._dumps(cast("JsonValue", exact))

    def _dumps(self, value: JsonValue) -> str:
        return self._redactor.text(json_value.dumps(value))


def _encoded(envelope: Envelope, redactor: Redactor) -> EncodedEnvelope:
    whole = redactor.text(json_value.dumps(envelope.on_wire())).encode()
    if len(whole) <= EVENT_OUTPUT_BYTES:
        return EncodedEnvelope(whole, whole)
    cut = replace(
        envelope,
        data=cut_values(envelope.data, EVENT_OUTPUT_BYTES - 2 * _BESIDE_BYTES - _REST_BYTES)[0],
        meta=cut_values(envelope.meta, _BESIDE_BYTES)[0],
        signals=cut_values(envelope.signals, _BESIDE_BYTES)[0],
    )
    return EncodedEnvelope(whole, redactor.text(json_value.dumps(cut.on_wire())).encode())


def call_json(call: CallRecord) -> str:
    """One call as it can be looked at later: its row's JSON, and its form on the wire."""
    wire: dict[str, JsonValue] = {
        "name": call.name,
        "model": call.model,
        "request": call.request,
        "response": call.response,
        "attempt": call.attempt,
        "usage": cast("JsonValue", usage_on_wire(call.usage)),
        "latencyMs": call.latency_ms,
        "finishReason": call.finish_reason,
        "error": cast("JsonValue", error_on_wire(call.error)) if call.error else None,
    }
    if call.recovered:
        wire["recovered"] = True
    whole = json_value.dumps(wire)
    if len(whole) <= CALL_BYTES // 4:  # at most four bytes a character, so neither part can be too large
        return whole
    wire["request"], wire["response"] = _cut(call.request), _cut(call.response)
    return json_value.dumps(wire)


def _cut(value: JsonValue) -> JsonValue:
    whole = json_value.dumps(value).encode()
    if len(whole) <= CALL_BYTES:
        return value
    head = whole[: CALL_BYTES - 1024].decode(errors="ignore")
    return {"__truncated__": True, "size": len(whole), "head": head}


def options_json(options: RunOptions) -> str:
    return json_value.dumps(
        {
            "defaultModel": options.default_model,
            "plannerModel": options.planner_model,
            "maxVisits": options.max_visits,
            "budget": {
                "tokens": options.budget.tokens,
                "seconds": options.budget.seconds,
                "cost": options.budget.cost,
            },
            "queuedInputs": {
                node_id: [dict(entry) for entry in entries] for node_id, entries in options.queued_inputs.items()
            },
            "script": options.script,
            "parallelNodes": options.parallel_nodes,
            "forced": None
            if options.forced is None
            else {"after": options.forced.after, "next": options.forced.next, "reason": options.forced.reason},
            "above": list(options.above),
        }
    )


def pause_values(pause: Pause) -> dict[str, str | None]:
    """The columns of a pause that is asked."""
    ask = pause.ask
    return {
        "id": pause.pause_id,
        "node_id": pause.node_id,
        "visit_uuid": pause.visit_id,
        "kind": ask.kind,
        "prompt": mend_text(ask.prompt),
        "questions_json": json_value.dumps([question_on_wire(question) for question in ask.questions]),
        "actions_json": json_value.dumps(actions_on_wire(ask)),
        "state": None if ask.state is None else json_value.dumps(ask.state),
        "status": pause.status.value,
        "on_timeout": ask.on_timeout,
        "expires_at": time_on_wire(pause.expires_at) if pause.expires_at else None,
        "created_at": time_on_wire(pause.created_at),
    }


def times(started_at: datetime | None, finished_at: datetime | None) -> tuple[str | None, str | None]:
    return (
        time_on_wire(started_at) if started_at else None,
        time_on_wire(finished_at) if finished_at else None,
    )
