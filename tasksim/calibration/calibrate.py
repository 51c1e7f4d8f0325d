"""Calibrate this machine: measure, fit, and write its platform and coefficient files."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.base.units import exact_quantity
from tasksim.calibration.book import Book, Configuration, Options
from tasksim.calibration.insitu import measure_in_situ
from tasksim.calibration.machine import fingerprint, machine_name, memory_bytes
from tasksim.calibration.micro import Kernel, measure_under_load
from tasksim.calibration.overheads import Gaps, measured_overheads
from tasksim.models.history import HistoryModel
from tasksim.models.store import read_samples, save_kernel
from tasksim.native.execution import usable_cores
from tasksim.platform.description import Overheads, Platform
from tasksim.platform.load import dump, load

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.base import Samples

__all__ = ["Report", "calibrate"]

ARCHITECTURE = "cpu"
SAVE_EVERY_S = 5.0

Progress = Callable[[str, float], None]


@dataclass
class Report:
    """What a calibration measured, and where it is."""

    machine: str
    platform_path: Path
    models_folder: Path
    how: str
    rows: list[Configuration] = field(default_factory=list)
    overheads: Overheads | None = None
    """None when only kernels were measured, outside the runtime."""
    seconds: float = 0.0
    interrupted: bool = False
