"""The gallery: workflows that come with the product and run without a key.

A sample is one JSON file: a graph file with a `sample` key beside it, `{order, name, description, inputs, seconds, waits}`,
names and descriptions by language. Opening one makes a workflow of the person's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import cast

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.alias_generators import to_camel

from flyback.domain.errors import NotFoundError
from flyback.domain.graph_file import WorkflowDocument, read_document
from flyback.domain.json_value import loads_strict
from flyback.domain.wire import Wire
from flyback.services.actor import Actor
from flyback.services.workflow import Workflow
from flyback.services.workflows import Workflows

_KEY = "sample"


class _About(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    order: int = 1_000
    name: dict[str, str]
    description: dict[str, str]
    inputs: dict[str, JsonValue] = {}
    seconds: int | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    id: str
    """The file's name without its ending."""
    order: int
    name: Mapping[str, str]
    description: Mapping[str, str]
    inputs: Mapping[str, JsonValue]
    seconds: int | None
    waits: bool
    document: WorkflowDocument


def packaged_samples() -> Traversable | Path:
    """Return the folder of samples: in the wheel, or of a source checkout."""
    packed = resources.files("flyback") / "samples"
    return packed if packed.is_dir() else Path(__file__).parents[4] / "samples"


class Samples:
    def __init__(self, folder: Traversable | Path, *, workflows: Workflows) -> None:
        self._folder = folder
        self._workflows = workflows

    @cached_property
    def _all(self) -> Mapping[str, Sample]:
        if not self._folder.is_dir():
            return {}
        files = [file for file in self._folder.iterdir() if file.name.endswith(".json")]
        samples = sorted((_read(file) for file in files), key=lambda sample: (sample.order, sample.id))
        return {sample.id: sample for sample in samples}

    def all(self) -> Sequence[Sample]:
        return list(self._all.values())

    def get(self, sample_id: str) -> Sample:
        sample = self._all.get(sample_id)
        if sample is None:
            raise NotFoundError(
                f"There is no sample {sample_id!r}.", fix="See those that there are with GET /api/samples."
            )
        return sample

    async def open(self, actor: Actor, sample_id: str, *, language: str | None) -> Workflow:
        """Make a workflow from a sample, named in a language where the sample has it."""
        sample = self.get(sample_id)
        name = sample.name.get(language or "en", sample.document.name)
        document = read_document({"name": name}, base=sample.document)
        return await self._workflows.create(actor, document, sample_id=sample.id)


def _read(file: Traversable | Path) -> Sample:
    content = cast("Wire", loads_strict(file.read_bytes()))
    document = read_document({key: value for key, value in content.items() if key != _KEY})
    here: JsonValue = {"name": {"en": document.name}, "description": {"en": document.description}}
    about = _About.model_validate(content.get(_KEY, here))
    return Sample(
        id=file.name.removesuffix(".json"),
        order=about.order,
        name=about.name,
        description=about.description,
        inputs=about.inputs,
        seconds=about.seconds,
        waits=about.waits,
        document=document,
    )
