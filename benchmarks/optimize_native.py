"""Optimised plans followed for real on this machine, against all dynamic schedulers.

    python benchmarks/optimize_native.py means FOLDER --app qr [--tiles 8 10 12 14]
    python benchmarks/optimize_native.py search FOLDER [--steps 20000]
    python benchmarks/optimize_native.py measure FOLDER [--patience 30]

``means`` runs an application natively for the mean duration of each kernel, ``search`` looks for
the best schedule with these, and ``measure`` runs each graph under all schedulers, interleaved, and
repeats what other programs disturbed, by the project's gate. The prediction replays the plan with
durations of the runs beside it. The search needs no calm machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import tasksim
from tasksim.kernels.program import bind
from tasksim.native.calm_moments import measure_calmly, run_gate
from tasksim.scenario.resolved import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.run.record import Run

TILE_SIZE = 256
WORKER_COUNT = 2
APPLICATIONS = ("cholesky", "qr")
DYNAMIC_SCHEDULERS = (
    "eager", "prio", "ws", "lws", "random", "libomp", "libgomp", "dask", "graph_test",
    "dm", "dmda", "dmdap", "dmdar", "dmdas", "dmdasd", "heteroprio", "multiprio", "darts",
    "modular-eager", "modular-prio", "modular-dmda", "modular-dmdas", "modular-heft",
)  # fmt: skip
MEASURED_SCHEDULERS = ("eager", "lws", "prio")
"""Schedulers whose runs give the durations for the prediction: interleaved with those of the plan,
as the machine is faster in one minute than in the next."""
WARM_RUNS = 3
"""Runs under lws whose tasks' means the plans are made for; one more goes before them."""
MEANS_PATIENCE_S = 10.0
"""Time in seconds to wait for these to be calm."""


def graph_text(app: str, tiles: int) -> str:
    """Return a graph as a scenario names it."""
    return f"{app} tiles={tiles} tile_size={TILE_SIZE}"


def means_of(runs: Sequence[Run]) -> dict[str, float]:
    """Return the mean duration of each kernel in native *runs*, in seconds."""
    found = {}
    for number, name in enumerate(runs[0].kernel_names):
        lengths = [
            (run.tasks.end_s - run.tasks.start_s)[run.tasks.kernel == number] for run in runs
        ]
        found[name] = float(np.mean(np.concatenate(lengths)))
    return found


def mean_durations(app: str, tiles: int) -> dict[str, float]:
    """Return the mean duration of each kernel in some runs beforehand, in seconds."""
    asked = graph_text(app, tiles)
    program = bind(tasksim.generate(app, tiles=tiles, tile_size=TILE_SIZE), WORKER_COUNT)
    action = partial(tasksim.execute, asked, workers=WORKER_COUNT, program=program)
    action()
    gate = run_gate(WORKER_COUNT)
    done = measure_calmly([action], gate, repetitions=WARM_RUNS, patience_s=MEANS_PATIENCE_S)
    return means_of(done.values[0])


def measure_means(folder: Path, tiles: list[int], app: str) -> None:
    """Write what each kernel takes to ``means.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    means = {graph_text(app, n): mean_durations(app, n) for n in tiles}
    (folder / "means.json").write_text(json.dumps(means, indent=1))


def search(folder: Path, steps: int) -> None:
    """Search for a plan for each graph of ``means.json``."""
    for asked, seconds in json.loads((folder / "means.json").read_text()).items():
        found = tasksim.optimize(
            asked, workers=WORKER_COUNT, durations=seconds, steps=steps, method="annealing"
        )
        found.save(folder / asked.replace(" ", "-"), force=True)
        print(
            f"{asked}: {1e3 * found.makespan_s:.1f} ms, gap {100 * found.gap:.2f} %, best of "
            f"{len(found.heuristics)} heuristics {1e3 * min(found.heuristics.values()):.1f} ms",
            flush=True,
        )


def measure(folder: Path, repetitions: int, patience_s: float) -> None:
    """Print a row per graph: medians of the makespans under all schedulers, and of the plan."""
    for asked, seconds in json.loads((folder / "means.json").read_text()).items():
        app, tiles = asked.split()[0], int(asked.split()[1].removeprefix("tiles="))
        graph = tasksim.generate(app, tiles=tiles, tile_size=TILE_SIZE)
        program = bind(graph, WORKER_COUNT)
        estimates = [[seconds[graph.kernel_of(task)] for task in range(len(graph))]]
        plan = folder / asked.replace(" ", "-")
        names = [
            *DYNAMIC_SCHEDULERS,
            *(f"static:file={plan}/plan.csv{o}" for o in ("", ",order=ready")),
        ]
        actions = [
            partial(
                tasksim.execute, asked, workers=WORKER_COUNT, scheduler=name, program=program,
                estimates=estimates,
            )
            for name in names
        ]  # fmt: skip
        tasksim.execute(asked, workers=WORKER_COUNT, program=program)
        gate = run_gate(WORKER_COUNT)
        done = measure_calmly(actions, gate, repetitions=repetitions, patience_s=patience_s)
        medians = {
            name: statistics.median(run.makespan_s for run in runs)
            for name, runs in zip(names, done.values, strict=True)
        }
        beside = [run for name in MEASURED_SCHEDULERS for run in done.values[names.index(name)]]
        replay = tasksim.Scenario(
            asked, workers=WORKER_COUNT, durations=means_of(beside), scheduler=names[-2]
        )
        predicted_s = replay.solve().makespan_s
        bound_s = max(resolve(replay).bounds().values())
        strict, ready = list(medians.values())[-2:]
        dynamic = {name: medians[name] for name in DYNAMIC_SCHEDULERS}
        first, last = min(dynamic, key=dynamic.__getitem__), max(dynamic, key=dynamic.__getitem__)
        middle = statistics.median(dynamic.values())
        print(
            f"{app:9} {tiles:2} {len(graph):5} | best {first} {1e3 * dynamic[first]:.1f} | median "
            f"{1e3 * middle:.1f} | worst {last} {1e3 * dynamic[last]:.1f} | plan strict "
            f"{1e3 * strict:.1f} ready {1e3 * ready:.1f} | predicted "
            f"{1e3 * predicted_s:.1f} ({100 * (predicted_s / strict - 1):+.1f} %) | bound "
            f"{1e3 * bound_s:.1f} | disturbed {done.calm.disturbed} of {done.calm.kept}",
            flush=True,
        )
        rows = {
            name: [run.makespan_s for run in runs]
            for name, runs in zip(names, done.values, strict=True)
        }
        (plan / "measured.json").write_text(json.dumps(rows, indent=1))


def main() -> None:
    """Measure kernels, search for plans, or follow them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("phase", choices=["means", "search", "measure"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiles", type=int, nargs="+", default=[8, 10, 12, 14])
    parser.add_argument("--steps", type=int, default=20_000, help="candidates per search")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--patience", type=float, default=30.0, help="seconds per graph")
    parser.add_argument("--app", choices=APPLICATIONS, default="cholesky")
    asked = parser.parse_args()
    if asked.phase == "means":
        measure_means(asked.folder, asked.tiles, asked.app)
    elif asked.phase == "search":
        search(asked.folder, asked.steps)
    else:
        measure(asked.folder, asked.repetitions, asked.patience)


if __name__ == "__main__":
    main()
