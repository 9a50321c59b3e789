"""Model entries, and the model inside."""

from __future__ import annotations

from fastapi import Response

from flyback.api.deps import All, Caller
from flyback.api.json_body import router
from flyback.api.payloads import FolderName
from flyback.api.wire.common import Failure, Usage
from flyback.api.wire.equipment import EmbeddedModel, Model, ModelGiven, ModelList, ModelTest, Prices, PricesGiven
from flyback.domain import model_entry
from flyback.domain.run import ErrorInfo
from flyback.domain.wire import error_on_wire, usage_on_wire
from flyback.services.embedded_model import EmbeddedState
from flyback.services.model_draft import ModelDraft
from flyback.services.models import ModelView

routes = router(prefix="/api/models", tag="models")


@routes.get("")
async def list_models(caller: Caller, services: All) -> ModelList:
    """The entries there are, the built-in ones first. Keys are never shown."""
    items = [_model(view) for view in await services.models.all(caller)]
    return ModelList(items=items, total=len(items))


@routes.post("", status_code=201)
async def add_model(body: ModelGiven, caller: Caller, services: All, response: Response) -> Model:
    made = await services.models.create(caller, _draft(body))
    response.headers["Location"] = f"/api/models/{made.id}"
    return _model(made)


@routes.get("/embedded")
async def read_embedded_model(caller: Caller, services: All) -> EmbeddedModel:
    """The model inside: its entry, whether its file is here, and how far fetching it is."""
    return _embedded(await services.models.get(caller, model_entry.EMBEDDED), services.embedded.state())


@routes.post("/embedded/pull", status_code=202)
async def pull_embedded_model(caller: Caller, services: All) -> EmbeddedModel:
    """Begin to fetch the model inside, or go on. It is checked by its hash before it is used."""
    return _embedded(await services.models.get(caller, model_entry.EMBEDDED), services.embedded.begin_fetch())


@routes.get("/{model_id}")
async def read_model(model_id: FolderName, caller: Caller, services: All) -> Model:
    return _model(await services.models.get(caller, model_id))


@routes.put("/{model_id}")
async def save_model(model_id: FolderName, body: ModelGiven, caller: Caller, services: All) -> Model:
    """Change an entry. Another `baseUrl` clears its key, unless a new one comes with it."""
    return _model(await services.models.update(caller, model_id, _draft(body)))


@routes.delete("/{model_id}", status_code=204)
async def delete_model(model_id: FolderName, caller: Caller, services: All) -> None:
    await services.models.delete(caller, model_id)


@routes.post("/{model_id}/default")
async def choose_default_model(model_id: FolderName, caller: Caller, services: All) -> Model:
    """Use this model where none is named."""
    return _model(await services.models.set_default(caller, model_id))


@routes.post("/{model_id}/test")
async def test_model(model_id: FolderName, caller: Caller, services: All) -> ModelTest:
    """Ask the model something short. 200 also where it fails: the answer says how."""
    tested = await services.models.test(caller, model_id)
    return ModelTest(
        ok=tested.ok,
        text=tested.text,
        model=tested.model,
        latency_ms=tested.latency_ms,
        usage=Usage.model_validate(usage_on_wire(tested.usage)),
        error=_failure(tested.error),
    )


def _draft(body: ModelGiven) -> ModelDraft:
    return ModelDraft(
        name=body.name,
        provider=body.provider,
        base_url=body.base_url,
        model=body.model,
        api_key=body.api_key,
        prices=_given_prices(body.prices),
        fallbacks=tuple(body.fallbacks),
        is_default=body.is_default,
        script=body.script,
    )


def _given_prices(given: PricesGiven | None) -> model_entry.Prices | None:
    if given is None:
        return None
    return model_entry.Prices(given.input_per_million, given.output_per_million, given.currency)


def _model(view: ModelView) -> Model:
    return Model(
        id=view.id,
        name=view.name,
        provider=view.provider,
        base_url=view.base_url,
        model=view.model,
        has_key=view.has_key,
        prices=_prices(view.prices),
        fallbacks=list(view.fallbacks),
        is_default=view.is_default,
        built_in=view.built_in,
        script=view.script,
        tested_at=view.tested_at,
        created_at=view.created_at,
        updated_at=view.updated_at,
    )


def _prices(prices: model_entry.Prices | None) -> Prices | None:
    if prices is None:
        return None
    return Prices(
        input_per_million=prices.input_per_million,
        output_per_million=prices.output_per_million,
        currency=prices.currency,
    )


def _failure(error: ErrorInfo | None) -> Failure | None:
    return None if error is None else Failure.model_validate(error_on_wire(error))


def _embedded(view: ModelView, state: EmbeddedState) -> EmbeddedModel:
    return EmbeddedModel.model_validate(
        {
            **_model(view).model_dump(),
            "model": state.name,
            "state": state.state,
            "size_bytes": state.size_bytes,
            "fetched_bytes": state.fetched_bytes,
            "message": state.message,
        }
    )
