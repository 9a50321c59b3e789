"""The models that the environment offers: providers whose usual key variable is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flyback.providers.chat.vendors import VENDORS


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A provider whose key lies in the environment, and the entry that would use it."""

    provider: str
    title: str
    variable: str
    name: str
    model: str
    """May be empty: then a person has to choose one."""


def offered_by_environment(environment: Mapping[str, str]) -> list[OfferedModel]:
    """Return the providers whose usual key variables are set. The keys themselves stay where they are."""
    offered: list[OfferedModel] = []
    for provider, vendor in VENDORS.items():
        variable = next((name for name in vendor.key_variables if environment.get(name, "").strip()), None)
        if variable is not None:
            offered.append(OfferedModel(provider, vendor.title, variable, provider, vendor.model))
    return offered
