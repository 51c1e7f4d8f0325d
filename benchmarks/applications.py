"""How well are applications of one's own predicted? The examples, at sizes that were not measured.

    python benchmarks/applications.py [--seconds 18] [--repetitions 9] [--only NAME] [--json FILE]

Each example is calibrated at three sizes, in calm moments; linear models of its kernels, whose
terms are written here and were chosen beforehand, predict two other sizes, which are then run
for real, in calm moments, too; all under lws. The error is that of the prediction against the
median measured; beside it, how far the measured runs are from each other, and how many times as
long the same takes on one worker, in turn with the others.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from tasksim import Scenario, calibrate, simulate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.native.calm_moments import run_gate
from tasksim.native.this_machine import usable_cores
from tasksim.scenario.repetitions import measure

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TARGET_MEDIAN, TARGET_WORST = 0.05, 0.12


class Example(NamedTuple):
    """Calibrated inputs, predicted inputs, and the terms of the kernels' models."""

    file: str
    fixed: str
    calibrated: tuple[str, ...]
    predicted: tuple[str, ...]
    terms: dict[str, str]


SWEEP_TERMS = "rows*columns + rows"
FACTOR_TERMS = "pivots**3 + pivots**2*rows + pivots*rows**2 + pivots*rows + pivots**2 + rows"
COPY_TERMS = "entries"
EXAMPLES_MEASURED = {
    **{
        f"stencil, {language}": Example(
            "stencil.py",
            f"steps=20 language={language}",
            ("n=768", "n=1024", "n=1536"),
            ("n=960", "n=1408"),
            {f"sweep_{language}": SWEEP_TERMS},
        )
        for language in ("numpy", "numba", "c")
    },
    "conjugate gradient": Example(
        "conjugate_gradient.py",
        "iterations=20",
        ("n=512", "n=768", "n=1024"),
        ("n=704", "n=960"),
        dict.fromkeys(("laplace", "dot", "step", "turn", "copy"), "cells"),
    ),
    "sparse Cholesky, 2-D": Example(
        "sparse_cholesky.py",
        "",
        ("n=160", "n=240", "n=320"),
        ("n=216", "n=296"),
        {"factor": FACTOR_TERMS, "extend_add": COPY_TERMS, "assemble": "rows**2 + rows"},
    ),
    "sparse Cholesky, 3-D": Example(
        "sparse_cholesky.py",
        "dimension=3",
        ("n=16", "n=20", "n=24"),
        ("n=21", "n=22"),
        {"factor": FACTOR_TERMS, "extend_add": COPY_TERMS, "assemble": "rows**2 + rows"},
    ),
    "images": Example(
        "image_pipeline.py",
        "images=16",
        ("width=384 seed=1", "width=512 seed=2", "width=768 seed=3"),
        ("width=576 seed=8", "width=672 seed=9"),
        dict.fromkeys(("blur", "edges", "count", "equalise", "shrink"), "pixels"),
    ),
}


@dataclass(frozen=True)
class Row:
    """A size that was predicted, and its measured runs."""

    example: str
    size: str
    tasks: int
    predicted_s: float
    measured_s: list[float]
    alone_s: list[float]
    disturbed: int

    @property
    def median_s(self) -> float:
        """The median measured."""
        return statistics.median(self.measured_s)

    @property
    def error(self) -> float:
        """Of the prediction, relative to the median measured."""
        return self.predicted_s / self.median_s - 1

    @property
    def spread(self) -> float:
        """Between the slowest and the fastest measured run, relative to the median."""
        return (max(self.measured_s) - min(self.measured_s)) / self.median_s

    @property
    def speedup(self) -> float:
        """Of all workers against one."""
        return statistics.median(self.alone_s) / self.median_s

    def __str__(self) -> str:
        return (
            f"{self.example:22} {self.size:18} {self.tasks:6} {1e3 * self.predicted_s:9.2f}"
            f" {1e3 * self.median_s:9.2f} {100 * self.error:+7.1f} %"
            f" {100 * self.spread:7.1f} % {self.speedup:6.2f}"
            + ("  not calm" if self.disturbed else "")
        )


def measured(name: str, seconds: float, repetitions: int) -> list[Row]:
    """Calibrate an example, predict it at other sizes, and run these."""
    example, workers = EXAMPLES_MEASURED[name], len(usable_cores())
    graph, fixed = str(EXAMPLES / example.file), example.fixed.split()
    rows = []
    with tempfile.TemporaryDirectory() as library:
        calibrate(
            [" ".join([graph, *fixed, size]) for size in example.calibrated],
            library,
            workers=workers,
            machine="here",
            options=CalibrationOptions(max_seconds=seconds, calm=True, schedulers=("lws",)),
            terms=example.terms,
        )
        for size in example.predicted:
            settings = (*fixed, *size.split())
            predicted = simulate(graph, "here", settings=settings, library=library)
            scenarios = [
                Scenario(graph, settings, workers=count, clock="native") for count in (workers, 1)
            ]
            found = measure(scenarios, repetitions, gate=run_gate(workers), patience_s=seconds)
            runs, alone = (each.runs for each in found.scenarios)
            calm = found.calm
            rows.append(
                Row(name, size, len(predicted), predicted.makespan_s,
                    [run.makespan_s for run in runs], [run.makespan_s for run in alone],
                    calm.disturbed if calm else 0)
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def main() -> int:
    """Measure all examples and print a table; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seconds",
        type=float,
        default=18.0,
        help="of each calibration, and that calm moments are waited for",
    )
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--only", default="", help="examples whose name contains this")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    print(
        f"{'example':22} {'size':18} {'tasks':>6} {'predicted':>9} {'ms':>9} {'error':>9}"
        "   spread  speed-up"
    )
    rows = [
        row
        for name in EXAMPLES_MEASURED
        if given.only in name
        for row in measured(name, given.seconds, given.repetitions)
    ]
    errors = [abs(row.error) for row in rows]
    print(
        f"|error|: median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %;"
        f" disturbed runs: {sum(row.disturbed for row in rows)}"
    )
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(statistics.median(errors) > TARGET_MEDIAN or max(errors) > TARGET_WORST)


if __name__ == "__main__":
    sys.exit(main())
