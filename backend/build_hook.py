"""How the wheel is made: its dependencies come from `requirements.in`, so that they are written once, and the built page
and the samples are packed into it. An editable install packs nothing: it finds both in the checkout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_PACKED = {"web/dist": "flyback/web_dist", "samples": "flyback/samples"}


class RequirementsHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        lines = Path(self.root, "backend", "requirements.in").read_text().splitlines()
        metadata["dependencies"] = [line for line in lines if line and not line.startswith("#")]


class PackingHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        for source, target in _PACKED.items():
            folder = Path(self.root, source)
            if not folder.is_dir():
                raise FileNotFoundError(f"{source} is missing: build the page first (make wheel does)")
            build_data["force_include"][str(folder)] = target
