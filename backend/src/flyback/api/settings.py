"""What a person has set for themselves."""

from __future__ import annotations

from pydantic import JsonValue

from flyback import __version__
from flyback.api.deps import All, Caller
from flyback.api.json_body import router
from flyback.api.wire.people import Limits, Settings, SettingsGiven
from flyback.services.settings import SettingsValues

routes = router(prefix="/api/settings", tag="settings")


@routes.get("")
async def read_settings(caller: Caller, services: All) -> Settings:
    return _settings(await services.settings.get(caller))


@routes.put("")
async def change_settings(body: SettingsGiven, caller: Caller, services: All) -> Settings:
    """Change the settings given. What is missing stays; a null puts the default back."""
    return _settings(await services.settings.change(caller, _changes(body)))


def _changes(body: SettingsGiven) -> dict[str, JsonValue]:
    given = body.model_dump(by_alias=True, exclude_unset=True)
    limits = given.pop("limits", {})
    if limits is None:
        limits = dict.fromkeys(("maxVisits", "parallelNodes"))
    return {**given, **limits}


def _settings(values: SettingsValues) -> Settings:
    return Settings(
        default_model=values.default_model,
        language=values.language,
        limits=Limits(max_visits=values.max_visits, parallel_nodes=values.parallel_nodes),
        version=__version__,
    )
