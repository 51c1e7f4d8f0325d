"""The format of platform files, version 1, as pydantic models.

Only the border sees them: :mod:`tasksim.platform.load` turns them into the plain objects of
:mod:`tasksim.platform.description`.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from tasksim.base.errors import InputError
from tasksim.base.units import Dimension, exact_quantity, parse_quantity, unit_names
from tasksim.platform.checks import MAX_MEMORIES, MAX_PIPELINE
from tasksim.platform.costs import Allocation, Copying
from tasksim.platform.description import MAX_WORKERS

__all__ = [
    "NAME_PATTERN",
    "ONE",
    "SECTIONS",
    "SEVERAL",
    "VERSION",
    "AllocationSection",
    "ArchitectureSection",
    "CopyingSection",
    "LinkSection",
    "MemorySection",
    "OverheadsSection",
    "PlatformFile",
    "RouteSection",
    "WorkersSection",
    "fields_of",
    "schema_json",
]

_ALLOCATION: Final = Allocation()
_COPYING: Final = Copying()

VERSION: Final = 1
"""The version of the format that is read and written."""

NAME_PATTERN: Final = r"^[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$"
"""What the names of memories, architectures, groups and links look like."""


def _quantity_of(dimension: Dimension) -> BeforeValidator:
    def parse(value: object) -> float:
        return parse_quantity(value, dimension)

    return BeforeValidator(parse)


def _quantity_schema(dimension: Dimension) -> WithJsonSchema:
    units = "|".join(unit_names(dimension))
    text = {"type": "string", "pattern": rf"^\s*[0-9.][0-9.eE+-]*\s*({units})\s*$"}
    return WithJsonSchema({"anyOf": [text, {"const": 0}]})


def _number(value: object) -> float:
    if isinstance(value, str) and value.strip().startswith(("x", "×")):
        raise InputError(f"{value!r} multiplies, which only --set can: write a number here")
    return parse_quantity(value, "factor")


def _plain(value: Any) -> Any:
    """Return *value* made of mappings, lists, text and finite numbers only."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise InputError("must be a plain value: text, a finite number, a list or a mapping of them")


def _size(size_bytes: float) -> str:
    return exact_quantity(size_bytes, "size")


Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Time = Annotated[float, _quantity_of("time"), Field(ge=0), _quantity_schema("time")]
Size = Annotated[float, _quantity_of("size"), Field(gt=0), _quantity_schema("size")]
Largest = Annotated[float, _quantity_of("size"), Field(ge=0), _quantity_schema("size")]
Bandwidth = Annotated[float, _quantity_of("bandwidth"), Field(gt=0), _quantity_schema("bandwidth")]
Speed = Annotated[float, BeforeValidator(_number), Field(gt=0), WithJsonSchema({"type": "number"})]
Factor = Annotated[float, BeforeValidator(_number), Field(ge=0), WithJsonSchema({"type": "number"})]
Part = Annotated[
    float, BeforeValidator(_number), Field(gt=0, le=1), WithJsonSchema({"type": "number"})
]
Count = Annotated[int, Field(ge=0, le=MAX_WORKERS)]
Limit = Annotated[int, Field(ge=1, le=32767)]  # of copies under way: more is no limit


def _tag(value: object) -> str:
    return SEVERAL if isinstance(value, list) else ONE


ONE, SEVERAL = "<name>", "<names>"
"""How pydantic's locations say which of two types was read; no name looks like that."""

Names = Annotated[
    Annotated[Name, Tag(ONE)] | Annotated[list[Name], Field(min_length=1), Tag(SEVERAL)],
    Discriminator(_tag),
]
"""One name for all workers of a group, or one per worker."""


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class MemorySection(_Section):
    """A memory: RAM, a NUMA domain, the memory of a GPU."""

    size: Size | None = Field(default=None, description="e.g. 128 GiB; without it, no limit")


class ArchitectureSection(_Section):
    """A kind of processing unit."""

    speed: Speed = Field(default=1.0, description="the durations of the models are divided by this")
    models: Name | None = Field(default=None, description="the architecture whose models it uses")
    pipeline: Annotated[int, Field(ge=0, le=MAX_PIPELINE)] = Field(
        default=0,
        description="how many tasks a worker may hold, the running one included; 0: it is a core",
    )
    synchronous: list[str] = Field(
        default=[],
        description="the models of kernels during which a driver does nothing else",
    )


class WorkersSection(_Section):
    """A group of workers that are alike."""

    count: Count = Field(description="how many, on each node")
    arch: Name | None = Field(
        default=None, description="their architecture; default: the group's name"
    )
    memory: Names | None = Field(
        default=None, description="their memory, or a list, one per worker; default: the only one"
    )
    models: Names | None = Field(
        default=None,
        description="the architecture whose models they use, or a list, one per worker",
    )
    drivers: Name | None = Field(
        default=None, description="the group of which each worker takes a core to be driven"
    )
    cores: list[Annotated[int, Field(ge=0)] | None] | None = Field(
        default=None,
        description="the cores they are bound to, as the operating system numbers them",
    )


class OverheadsSection(_Section):
    """The costs of the runtime itself."""

    submission: Time = Field(default=0.0, description="the time to submit one task")
    task: Time = Field(default=0.0, description="from a worker's pop to the start of the kernel")
    wakeup: Time = Field(default=0.0, description="added to task when the worker was asleep")
    push: Time = Field(default=0.0, description="to give one released task to the scheduler")
    fetch: Time = Field(default=0.0, description="per datum of a task that was popped")
    progress: Time = Field(
        default=0.0, description="one round of a worker's loop, per memory that it looks after"
    )
    kernel: Time = Field(default=0.0, description="to queue a kernel on a device")
    copy_: Time = Field(default=0.0, alias="copy", description="to start a copy")


class LinkSection(_Section):
    """Something that data move over; between two memories it is the way both to and fro."""

    bandwidth: Bandwidth = Field(description="e.g. 12.5 GB/s")
    latency: Time = Field(default=0.0, description="e.g. 10 us")
    measured_bandwidth: Bandwidth | None = Field(
        default=None,
        description="what schedulers believe of the routes that begin with this link",
    )
    measured_latency: Time | None = Field(
        default=None,
        description="what schedulers believe of the routes that begin with this link",
    )
    shared: bool = Field(
        default=True,
        description="whether copies that cross it together share its bandwidth; else each has all",
    )
    between: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        default=None,
        description="two memories of a node, or of two nodes: [node0/ram, node1/ram]; "
        "without it, the link is a part of the routes that name it",
    )


class RouteSection(_Section):
    """The way from one memory to another of the same node."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    links: list[str] = Field(
        min_length=1, description="the links it crosses; one named twice counts twice"
    )


class AllocationSection(_Section):
    """How memory is allocated on devices, and what it costs."""

    allocate: Time = Field(default=0.0, description="one allocation by the driver")
    free: Time = Field(default=0.0, description="one release by the driver")
    chunk: Size = Field(
        default=_size(_ALLOCATION.chunk_bytes),
        validate_default=True,
        description="what is allocated at once for small blocks",
    )
    unit: Size = Field(
        default=_size(_ALLOCATION.unit_bytes),
        validate_default=True,
        description="small blocks are whole multiples of this",
    )
    largest: Largest = Field(
        default=_size(_ALLOCATION.largest_bytes),
        validate_default=True,
        description="the largest block that comes out of a chunk; 0: none",
    )
    usable: Part = Field(
        default=_ALLOCATION.usable, description="the part of a device's memory that is used"
    )

    @field_validator("unit", "largest")
    @classmethod
    def _fits(cls, value: float, info: ValidationInfo) -> float:
        chunk = info.data.get("chunk", value)
        if value > chunk:
            raise InputError(f"must be at most chunk (got {_size(value)}, chunk is {_size(chunk)})")
        return value


class CopyingSection(_Section):
    """How copies between memories are started, and what schedulers believe of them."""

    fetches: Limit = Field(
        default=_COPYING.fetches,
        description="copies under way, from one memory to one other, that tasks wait for",
    )
    prefetches: Limit = Field(
        default=_COPYING.prefetches, description="as fetches, for copies made ahead"
    )
    idle: Limit = Field(
        default=_COPYING.idle, description="as fetches, for copies that nobody waits for"
    )
    serialised: bool = Field(
        default=_COPYING.serialised, description="whether copies exclude each other as CUDA's do"
    )
    contention: Factor = Field(
        default=_COPYING.contention,
        description="schedulers believe latency + max(1, contention * devices) * size / bandwidth",
    )


class PlatformFile(_Section):
    """A platform file of tasksim."""

    version: Literal[1] = Field(description="the version of this format")
    name: str | None = Field(default=None, description="default: the name of the file")
    description: str = Field(default="", description="one line for people")
    extends: str | None = Field(
        default=None, description="a platform, by name or relative to this file"
    )
    models: str | None = Field(default=None, description="the folder of coefficient files")
    nodes: int = Field(
        default=1, ge=1, le=MAX_MEMORIES, description="how many nodes, each like what follows"
    )
    memories: dict[Name, MemorySection] = Field(
        default={}, description="default: ram, without limit"
    )
    arch: dict[Name, ArchitectureSection] = Field(default={}, description="architectures by name")
    workers: dict[Name, WorkersSection] = Field(description="groups of workers by name")
    overheads: OverheadsSection = Field(default=OverheadsSection(), description="zero by default")
    links: dict[Name, LinkSection] = Field(default={}, description="links between memories by name")
    routes: list[RouteSection] = Field(
        default=[], description="ways between memories, over several links or in one direction"
    )
    allocation: AllocationSection = Field(
        default=AllocationSection(), description="free and without limits by default"
    )
    copying: CopyingSection = Field(
        default=CopyingSection(), description="how copies are started, what is believed of them"
    )
    fingerprint: Annotated[dict[str, Any], BeforeValidator(_plain)] = Field(
        default={}, description="what the calibration noted about the machine"
    )


SECTIONS: Final[dict[str, type[_Section]]] = {
    "memories": MemorySection,
    "arch": ArchitectureSection,
    "workers": WorkersSection,
    "overheads": OverheadsSection,
    "links": LinkSection,
    "routes": RouteSection,
    "allocation": AllocationSection,
    "copying": CopyingSection,
}


def schema_json() -> str:
    """Return the JSON schema of platform files, for editors that complete and check YAML."""
    schema = PlatformFile.model_json_schema()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def fields_of(section: type[_Section]) -> list[str]:
    """Return the names of the fields of a *section*, as a file writes them."""
    return [field.alias or name for name, field in section.model_fields.items()]
