"""Health, readiness, metrics, and the description of this API. Only the first two are open."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from flyback.api.deps import SIGNED_IN, All
from flyback.api.json_body import JsonAnswer, router
from flyback.api.streams import StreamSlots
from flyback.api.traffic import Traffic
from flyback.api.wire.people import Health, Readiness, ReadyPart
from flyback.storage.counts import Counts

watching = router(prefix="", tag="operations")
"""What watches a process: a worker has these too."""
routes = router(prefix="", tag="operations")

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@watching.get("/healthz")
async def read_health() -> Health:
    """The process answers."""
    return Health(status="ok")


@watching.get("/readyz", responses={503: {"model": Readiness}})
async def read_readiness(services: All, response: Response) -> Readiness:
    """The server can work: each part and what keeps it from working."""
    parts = await services.operations.readiness()
    ready = all(part.trouble is None for part in parts)
    if not ready:
        response.status_code = 503
    told = [ReadyPart(name=part.name, ready=part.trouble is None, message=part.trouble) for part in parts]
    return Readiness(status="ready" if ready else "not_ready", parts=told)


@watching.get(
    "/metrics", dependencies=[SIGNED_IN], response_class=Response, responses={200: {"content": {"text/plain": {}}}}
)
async def read_metrics(request: Request, services: All) -> Response:
    """Counters and gauges in Prometheus's text format."""
    registry = CollectorRegistry()
    counts = await services.operations.counts()
    registry.register(_Snapshot(counts, request.app.state.traffic, request.app.state.streams))
    numbers = generate_latest(registry) + generate_latest(services.operations.registry)
    return Response(numbers, media_type=_METRICS_TYPE)


@routes.get("/openapi.json", dependencies=[SIGNED_IN], include_in_schema=False)
async def read_openapi(request: Request) -> JsonAnswer:
    return JsonAnswer(request.app.openapi())


class _Snapshot(Collector):
    """What stands in the database and in this process, at the moment of the call."""

    def __init__(self, counts: Counts, traffic: Traffic, streams: StreamSlots) -> None:
        self._counts, self._traffic, self._streams = counts, traffic, streams

    @property
    def _oldest_seconds(self) -> float:
        since = self._counts.oldest_waiting
        return 0.0 if since is None else max(0.0, (datetime.now(UTC) - since).total_seconds())

    def collect(self) -> list[Metric]:
        runs = GaugeMetricFamily("flyback_runs", "Runs, by status.", labels=["status"])
        for status, count in sorted(self._counts.runs.items()):
            runs.add_metric([status], count)
        requests = CounterMetricFamily(
            "flyback_http_requests", "Requests answered by this process.", labels=["method", "status"]
        )
        for (method, status), count in sorted(self._traffic.requests.items()):
            requests.add_metric([method, status], count)
        return [
            runs,
            requests,
            GaugeMetricFamily("flyback_queue_depth", "Runs that wait.", value=self._counts.runs.get("PENDING", 0)),
            GaugeMetricFamily(
                "flyback_queue_oldest_seconds", "Age of the run that has waited longest.", value=self._oldest_seconds
            ),
            GaugeMetricFamily(
                "flyback_workers", "Workers that live, on a shared database.", value=self._counts.workers
            ),
            GaugeMetricFamily("flyback_workflows", "Workflows.", value=self._counts.workflows),
            GaugeMetricFamily("flyback_visits", "Visits recorded.", value=self._counts.visits),
            GaugeMetricFamily("flyback_committed_steps", "Steps committed, of all runs.", value=self._counts.steps),
            GaugeMetricFamily("flyback_events", "Durable events, of all runs.", value=self._counts.events),
            GaugeMetricFamily(
                "flyback_open_pauses", "Questions that wait for a person.", value=self._counts.open_pauses
            ),
            GaugeMetricFamily("flyback_open_streams", "Event streams open now.", value=self._streams.open),
            CounterMetricFamily("flyback_http_seconds", "Time spent answering.", value=self._traffic.seconds),
        ]
