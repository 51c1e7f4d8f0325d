"""Topologies by name, as sections of files."""

from __future__ import annotations

from typing import Any, Final

from tasksim.base.documents.sections import Section
from tasksim.base.errors import InputError
from tasksim.base.registry import Registry

__all__ = ["TOPOLOGIES"]


def _adopt(name: str, found: Any) -> type[Section]:
    if not (isinstance(found, type) and issubclass(found, Section) and hasattr(found, "build")):
        raise InputError(f"topology '{name}': {found!r} is not a Section with build()")
    return found


TOPOLOGIES: Final[Registry[type[Section]]] = Registry(
    "topology",
    "tasksim.topologies",
    {
        "switch": "tasksim.network.topologies.switch:SwitchSection",
        "backbone": "tasksim.network.topologies.backbone:BackboneSection",
        "fat-tree": "tasksim.network.topologies.fat_tree:FatTreeSection",
        "torus": "tasksim.network.topologies.torus:TorusSection",
        "dragonfly": "tasksim.network.topologies.dragonfly:DragonflySection",
        "explicit": "tasksim.network.topologies.explicit:ExplicitSection",
        "zones": "tasksim.network.topologies.zones:ZonesSection",
    },
    _adopt,
)
