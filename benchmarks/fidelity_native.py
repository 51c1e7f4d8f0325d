"""How faithful is a prediction? Native runs on this machine against simulated ones.

    python benchmarks/fidelity_native.py [--repetitions 5] [--json FILE]

{cholesky, lu, qr} x tiles {8, 16} x {eager, lws, prio}, tile 256, float64. The models come from
runs of other sizes (6, 10 and 12 tiles), never from those that are predicted. Two errors, both
of predicted against median measured:

- ahead: everything is predicted from one calibration, before the first measured run;
- beside: calibration runs and measured runs take turns, so that both see the same machine,
  which on a shared one is faster in one minute and slower in the next.

The peer, StarPU-SimGrid against native StarPU on a 2-core machine: median 3.4 %, worst 8.1 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from tasksim.calibration.book import Book, Options
from tasksim.calibration.insitu import Observed, measure_in_situ
from tasksim.calibration.locality import fit_locality
from tasksim.calibration.overheads import measured_overheads
from tasksim.calibration.write import Destination, write_kernels, write_platform
from tasksim.graph.apps.registry import generate
from tasksim.models.store import ModelLibrary
from tasksim.native.execution import usable_cores
from tasksim.platform.description import Platform
from tasksim.platform.load import load
from tasksim.study.fidelity import Case, Outcome, measure, predict

TARGET_MEDIAN, TARGET_WORST = 0.03, 0.08
APPLICATIONS = ("cholesky", "lu", "qr")
CASES = [
    Case(name, {"tiles": tiles}, scheduler)
    for name in APPLICATIONS
    for tiles in (8, 16)
    for scheduler in ("eager", "lws", "prio")
]
CALIBRATED_TILES = (6, 10, 12)


class Calibration:
    """A calibration that goes on between measured runs."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.graphs = [generate(a, tiles=t) for t in CALIBRATED_TILES for a in APPLICATIONS]
        self.workers = len(usable_cores())
        self.destination = Destination(folder, "here", self.workers)
        self.options = Options(tolerance=0.005, max_seconds=seconds)
        self.book, self.observed = Book(), Observed()

    def go_on(self) -> tuple[Platform, ModelLibrary]:
        """Measure for a while; return what is known by then."""
        platform = Platform.identical(self.workers)
        measure_in_situ(self.graphs, platform, self.book, self.options, self.observed, tell)
        rows = list(self.book.configurations(self.options))
        locality = fit_locality(self.observed.far)
        write_kernels(self.destination, self.book, rows, locality)
        write_platform(self.destination, measured_overheads(self.observed.gaps))
        models = ModelLibrary(self.destination.models_folder)
        return load(str(self.destination.platform_path)), models


def tell(what: str, share: float) -> None:
    """Say on stderr what goes on."""
    print(f"\r{100 * min(1.0, share):5.1f} %  {what:60}", end="", file=sys.stderr, flush=True)


def summary(name: str, outcomes: list[Outcome]) -> str:
    """Return a line about the errors of *outcomes*."""
    errors = [abs(o.error) for o in outcomes]
    return (
        f"|error|, {name:6}: median {100 * statistics.median(errors):.2f} %,"
        f" worst {100 * max(errors):.2f} %,"
        f" mean signed {100 * statistics.mean(o.error for o in outcomes):+.2f} %"
    )


def main() -> None:
    """Calibrate, predict, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write all outcomes to this file")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        calibration = Calibration(Path(folder), seconds=15.0)
        platform, models = calibration.go_on()
        ahead = predict(CASES, platform, models)
        for _ in range(options.repetitions):
            measure(ahead, platform, models, 1, tell)
            latest = calibration.go_on()
        beside = [
            Outcome(o.case, later.simulated, o.native)
            for o, later in zip(ahead, predict(CASES, *latest), strict=True)
        ]
    print(
        f"\n\n{'graph':18} {'scheduler':9} {'measured':>10} {'spread':>8}"
        f" {'ahead':>10} {'error':>8} {'beside':>10} {'error':>8}"
    )
    for a, b in zip(ahead, beside, strict=True):
        print(
            f"{a.case.graph_text:18} {a.case.scheduler:9} {1e3 * a.median_s:7.1f} ms"
            f" {100 * a.spread:6.1f} % {1e3 * a.predicted_s:7.1f} ms {100 * a.error:+6.2f} %"
            f" {1e3 * b.predicted_s:7.1f} ms {100 * b.error:+6.2f} %"
        )
    spreads = [o.spread for o in ahead]
    print(f"\n{summary('ahead', ahead)}\n{summary('beside', beside)}")
    print(
        f"targets: median {100 * TARGET_MEDIAN:.0f} %, worst {100 * TARGET_WORST:.0f} %;"
        f" native spread (max - min) / median: median {100 * statistics.median(spreads):.1f} %,"
        f" worst {100 * max(spreads):.1f} %"
    )
    if options.json:
        found = {"ahead": ahead, "beside": beside}
        text = json.dumps({k: [o.to_json() for o in v] for k, v in found.items()}, indent=1)
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
