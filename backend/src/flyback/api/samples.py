"""The gallery."""

from __future__ import annotations

from fastapi import Response

from flyback.api.deps import SIGNED_IN, All, Caller
from flyback.api.json_body import router
from flyback.api.payloads import Id
from flyback.api.wire.people import Language
from flyback.api.wire.workflows import Sample, SampleList, Workflow
from flyback.api.workflows import wire
from flyback.services.samples import Sample as Packed
from flyback.storage.workflows import size_of

routes = router(prefix="/api/samples", tag="samples")


@routes.get("", dependencies=[SIGNED_IN])
async def list_samples(services: All) -> SampleList:
    """Workflows that come with the product and run without a key."""
    items = [_sample(one) for one in services.samples.all()]
    return SampleList(items=items, total=len(items))


@routes.post("/{sample_id}/open", status_code=201)
async def open_sample(
    sample_id: Id, caller: Caller, services: All, response: Response, language: Language | None = None
) -> Workflow:
    """Make a workflow of your own from a sample."""
    stored = await services.samples.open(caller, sample_id, language=language)
    response.headers["Location"] = f"/api/workflows/{stored.id}"
    return wire(stored)


def _sample(sample: Packed) -> Sample:
    nodes, _ = size_of(sample.document.graph_data)
    return Sample(
        id=sample.id,
        name=dict(sample.name),
        description=dict(sample.description),
        mode=sample.document.mode.value,
        node_count=nodes,
        graph_data=dict(sample.document.graph_data),
        inputs=dict(sample.inputs),
        seconds=sample.seconds,
        waits=sample.waits,
        script=sample.document.script,
    )
