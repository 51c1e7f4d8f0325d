"""Calibrations of a machine called here, whose runs are made up."""

from __future__ import annotations

from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.graph.builder import GraphBuilder
from tasksim.models.files.store import load_kernel


def here(items, library, **options):
    """Calibrate a machine called here; a settled one stops after five rounds."""
    known = {"workers": 1, "machine": "here", "options": CalibrationOptions(max_seconds=1e9)}
    return calibrate(items, library, **{**known, **options})


def entry(library, kernel="task"):
    return load_kernel(library / "models" / "here" / f"{kernel}.json").architectures["cpu"]


def sizes(*ms):
    """A graph of ten gemms of each size."""
    builder = GraphBuilder("sizes")
    for m in ms:
        for _ in range(10):
            builder.insert("gemm", m=m)
    return builder.build()


def seconds(number, graph):
    """Return the duration of a gemm of size m: 1 us * m + 2 us, a little more every other run."""
    table = graph.parameters[0][graph.row, 0]
    return (1e-6 * table + 2e-6) * (1 + 1e-4 * (number % 2))
