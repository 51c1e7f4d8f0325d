"""Models of messages by name."""

from __future__ import annotations

from typing import Any, Final

from tasksim.base.errors import InputError
from tasksim.base.registry import Registry
from tasksim.network.model import Model

__all__ = ["MODELS"]


def _adopt(name: str, found: Any) -> Model:
    if not isinstance(found, Model):
        raise InputError(f"network model '{name}': {found!r} is not a Model")
    return found


MODELS: Final[Registry[Model]] = Registry(
    "network model",
    "tasksim.network_models",
    {
        "ideal": "tasksim.network.models.ideal:IDEAL",
        "hockney": "tasksim.network.models.hockney:HOCKNEY",
        "loggp": "tasksim.network.models.loggp:LOGGP",
        "cm02": "tasksim.network.models.cm02:CM02",
        "lv08": "tasksim.network.models.lv08:LV08",
        "smpi": "tasksim.network.models.smpi:SMPI",
        "raw": "tasksim.network.models.raw:RAW",
    },
    _adopt,
)
