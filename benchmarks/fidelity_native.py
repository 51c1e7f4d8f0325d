"""How faithful is a prediction? Native runs on this machine against simulated ones.

    python benchmarks/fidelity_native.py [--repetitions 5] [--json FILE]

{cholesky, lu, qr} x tiles {8, 16} x {eager, lws, prio}, tile 256, float64. The models come from
runs of other sizes (6, 10 and 12 tiles); predictions are made before the first native run;
native repetitions are interleaved. The error is predicted against median measured.
The peer, StarPU-SimGrid against native StarPU on a 2-core machine: median 3.4 %, worst 8.1 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

TARGET_MEDIAN, TARGET_WORST = 0.03, 0.08


def main() -> None:
    """Calibrate, predict, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--calibration-time", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    from tasksim.calibration.book import Options
    from tasksim.calibration.calibrate import calibrate
    from tasksim.graph.apps.registry import generate
    from tasksim.models.store import ModelLibrary
    from tasksim.native.execution import usable_cores
    from tasksim.platform.load import load
    from tasksim.study.fidelity import Case, measure, predict

    def progress(what: str, share: float) -> None:
        print(f"\r{100 * share:5.1f} %  {what:60}", end="", file=sys.stderr, flush=True)

    applications = ("cholesky", "lu", "qr")
    known = [generate(name, tiles=tiles) for tiles in (6, 10, 12) for name in applications]
    cases = [
        Case(name, {"tiles": tiles}, scheduler)
        for name in applications
        for tiles in (8, 16)
        for scheduler in ("eager", "lws", "prio")
    ]
    with tempfile.TemporaryDirectory() as folder:
        report = calibrate(
            known,
            Path(folder),
            machine="here",
            workers=len(usable_cores()),
            options=Options(max_seconds=options.calibration_time),
            progress=progress,
        )
        print(f"\n{report.table()}\n")
        platform = load(str(report.platform_path))
        models = ModelLibrary(report.models_folder)
        outcomes = predict(cases, platform, models)
        measure(outcomes, platform, models, options.repetitions, progress)
    print("\n")
    print(
        f"{'graph':18} {'scheduler':9} {'predicted':>10} {'measured':>10}"
        f" {'spread':>8} {'error':>8}"
    )
    for o in outcomes:
        print(
            f"{o.case.graph_text:18} {o.case.scheduler:9} {1e3 * o.predicted_s:7.1f} ms"
            f" {1e3 * o.median_s:7.1f} ms {100 * o.spread:6.1f} % {100 * o.error:+6.2f} %"
        )
    errors = [abs(o.error) for o in outcomes]
    spreads = [o.spread for o in outcomes]
    print(
        f"\n|error| median {100 * statistics.median(errors):.2f} %"
        f" (target {100 * TARGET_MEDIAN:.0f} %), worst {100 * max(errors):.2f} %"
        f" (target {100 * TARGET_WORST:.0f} %), mean signed"
        f" {100 * statistics.mean(o.error for o in outcomes):+.2f} %;"
        f" native spread median {100 * statistics.median(spreads):.1f} %,"
        f" worst {100 * max(spreads):.1f} %"
    )
    if options.json:
        options.json.write_text(json.dumps([o.to_json() for o in outcomes], indent=1))


if __name__ == "__main__":
    main()
