"""The results of a run, whole: an event tells them cut where they are large."""

from __future__ import annotations

from flyback.cli.doors import RunDoor, WireObject


async def with_whole_outputs(door: RunDoor, event: WireObject) -> WireObject:
    """Return the event; one that tells a run's results cut with the results as the run has them."""
    if not event["data"].get("outputsTruncated"):
        return event
    detail = await door.detail(event["runId"])
    return {**event, "data": {**event["data"], "outputs": detail["outputs"]}}
