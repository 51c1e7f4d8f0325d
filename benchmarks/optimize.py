"""Optimised schedules against heuristics and bounds, on machines that StarPU calibrated.

Tiled Cholesky and LU (StarPU's applications, tiles of 960 x 960, float32) on mirage (9 cores, 3
GPUs) and sirocco (20 cores, 4 GPUs), with copies; each makespan is a replay. The machines are
imported from StarPU's sampling files, which have no models of QR: that is on xeon-24c, 24 equal
cores with the models of this project. ``prio`` and ``dmdas`` are what is left of the gain if the
plan gives only priorities; ``--noise N`` also draws durations N times. With ``--random`` instead:
graphs of 1,000 tasks on the two kinds of workers, annealing against all heuristics; with
``--ft10``: the job shop of ten jobs, whose optimum is 930.

    python benchmarks/optimize.py DATA --time 60
    python benchmarks/optimize.py DATA --only cholesky,mirage lu,mirage --steps 20000
    python benchmarks/optimize.py DATA --without-copies --tiles 6 8
    python benchmarks/optimize.py --random 10 --time 60
    python benchmarks/optimize.py --ft10 --time 300
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import tasksim
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.platform.description import Memory, Platform, Worker
from tasksim.scenario.resolved import resolve

APPLICATIONS = {"cholesky": "chol_model_{kernel}", "lu": "starpu_slu_lu_model_{kernel}"}
CASES = [f"{app},{machine}" for machine in ("mirage", "sirocco") for app in APPLICATIONS]
CASES.append("qr,xeon-24c")
MIN_POSSIBLE = 0.1
"""Least distance of the best heuristic from the bound for which a gain of 10 % can be asked."""
SHOWN_SCHEDULERS = ("dmdas", "dmdar", "heteroprio", "heft")
FT10 = """
0 29 1 78 2 9 3 36 4 49 5 11 6 62 7 56 8 44 9 21
0 43 2 90 4 75 9 11 3 69 1 28 6 46 5 46 7 72 8 30
1 91 0 85 3 39 2 74 8 90 5 10 7 12 6 89 9 45 4 33
1 81 2 95 0 71 4 99 6 9 8 52 7 85 3 98 9 22 5 43
2 14 0 6 1 22 5 61 3 26 4 69 8 21 7 49 9 72 6 53
2 84 1 2 5 52 3 95 8 48 9 72 0 47 6 65 4 6 7 25
1 46 0 37 3 61 2 13 6 32 5 21 9 32 8 89 7 30 4 55
2 31 0 86 1 46 5 74 4 32 6 88 8 19 9 48 7 36 3 79
0 76 1 69 3 76 5 51 2 85 9 11 6 40 7 89 4 26 8 74
1 85 0 13 2 61 6 7 8 64 9 76 5 47 3 52 4 90 7 45
"""
"""Machine and duration of each step of each job (H. Fisher, G. Thompson, 1963); optimum 930."""


def scenario(app: str, machine: str, tiles: int, library: str) -> tasksim.Scenario:
    """Return one case of the table."""
    if app in APPLICATIONS:
        return tasksim.Scenario(
            f"{app} tiles={tiles} tile_size=960 dtype=float32",
            platform=machine,
            library=library,
            model_names=APPLICATIONS[app],
        )
    return tasksim.Scenario(f"{app} tiles={tiles}", platform=machine)


def without_copies(asked: tasksim.Scenario) -> tasksim.Scenario:
    """Return the scenario with all workers at one memory."""
    resolved = resolve(asked)
    platform = resolved.platform
    return asked.vary(
        platform=replace(
            platform,
            workers=tuple(replace(worker, memory=0) for worker in platform.workers),
            memories=platform.memories[:1],
            links=(),
            routes=(),
        ),
        models=resolved.models,
        library=None,
    )


def table(asked: argparse.Namespace) -> None:
    """Print a row per application, machine and number of tiles."""
    columns = (*SHOWN_SCHEDULERS, "best", "optimised", "shorter", "bound", "gap", "prio", "dmdas")
    head = [f"{name:>10}" for name in columns]
    print(
        f"{'application':11} {'machine':8} {'tiles':>5} {'tasks':>5}",
        *head,
        " replays/s  processor",
    )
    gains, possible = [], []
    with tempfile.TemporaryDirectory() as folder:
        for machine in ("mirage", "sirocco"):
            tasksim.import_machine(asked.data / "sampling", machine, Path(folder))
        for app, machine in (case.split(",") for case in asked.only):
            for count in asked.tiles:
                case = scenario(app, machine, count, folder)
                if asked.without_copies:
                    case = without_copies(case)
                begun_s = time.process_time()
                found = tasksim.optimize(
                    case, time_s=asked.time, steps=asked.steps, seed=asked.seed,
                    method=asked.method,
                )  # fmt: skip
                best_s = min(found.heuristics.values())
                gains.append(1 - found.makespan_s / best_s)
                possible.append(1 - found.bound_s / best_s)
                times = [
                    *(found.heuristics.get(name, np.nan) for name in SHOWN_SCHEDULERS),
                    best_s,
                    found.makespan_s,
                ]
                print(
                    f"{app:11} {machine:8} {count:5} {len(found.plan):5}",
                    *(f"{1e3 * value:7.1f} ms" for value in times),
                    f"{100 * gains[-1]:8.1f} %",
                    f"{1e3 * found.bound_s:7.1f} ms",
                    f"{100 * found.gap:8.1f} %",
                    *(f"{1e3 * after:7.1f} ms" for _, after in found.survives.values()),
                    f"{found.replays_per_s:10.0f}",
                    f"{time.process_time() - begun_s:8.0f} s",
                    flush=True,
                )
                if asked.noise:
                    print(f"    with noise: {under_noise(found, case, asked.noise)}", flush=True)
    print(f"median: {100 * statistics.median(gains):.1f} % shorter than the best heuristic")
    allowed = [gain for gain, most in zip(gains, possible, strict=True) if most >= MIN_POSSIBLE]
    if allowed:
        print(
            f"where bounds allow 10 %: {100 * statistics.median(allowed):.1f} %, {len(allowed)} of "
            f"{len(gains)} cases"
        )


def under_noise(found: tasksim.Optimum, case: tasksim.Scenario, draws: int) -> str:
    """Return the mean makespans of the plan and of schedulers if durations are drawn."""
    with tempfile.TemporaryDirectory() as folder:
        found.save(folder, force=True)
        plan, prioritised = (
            f"{folder}/plan.csv",
            case.vary(graph=f"{folder}/graph.npz", settings=()),
        )
        asked = {
            found.best_heuristic: case.vary(scheduler=found.best_heuristic),
            "dmdas": case.vary(scheduler="dmdas"),
            "plan": case.vary(scheduler=f"static:file={plan}"),
            "plan, order=ready": case.vary(scheduler=f"static:file={plan},order=ready"),
            "prio with its priorities": prioritised.vary(scheduler="prio"),
            "dmdas with its priorities": prioritised.vary(scheduler="dmdas"),
        }
        means = {
            name: statistics.fmean(
                one.vary(noise="model", seed=seed).solve().makespan_s for seed in range(draws)
            )
            for name, one in asked.items()
        }
    return "; ".join(f"{name} {1e3 * mean:.1f} ms" for name, mean in means.items())


def job_shop(time_s: float) -> None:
    """Print what CP-SAT finds for ten jobs on ten machines."""
    rows = [list(map(int, line.split())) for line in FT10.split("\n") if line]
    builder, seconds = GraphBuilder("ft10"), {}
    for job, row in enumerate(rows):
        datum = builder.handle(f"job{job}", size_bytes=0)
        for step, (machine, length) in enumerate(zip(row[::2], row[1::2], strict=True)):
            builder.insert(f"op{job}.{step}", RW(datum))
            seconds[f"m{machine}:op{job}.{step}"] = float(length)
    workers = tuple(Worker(k, f"m{k}", f"m{k}", 0) for k in range(len(rows)))
    platform = Platform("shop", workers, (Memory(0, "ram"),))
    found = tasksim.optimize(
        builder.build(), platform, durations=seconds, time_s=time_s, method="solver"
    )
    print(f"ft10: {found.makespan_s:.0f}, bound {found.bound_s:.0f}; optimum 930")


def random_graph(tasks: int, seed: int) -> tasksim.TaskGraph:
    """Return a graph in which each task reads data of up to three of the 50 before it."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder(f"random-{seed}")
    data = [builder.handle(f"x{task}", size_bytes=8) for task in range(tasks)]
    for task in range(tasks):
        first = max(0, task - 50)
        count = min(task - first, int(rng.integers(0, 4)))
        before = rng.choice(np.arange(first, task), count, replace=False) if count else []
        builder.insert(f"k{rng.integers(8)}", *(R(data[k]) for k in before), W(data[task]))
    return builder.build()


def random_graphs(count: int, time_s: float, seed: int) -> None:
    """Print on how many random graphs annealing is better than every heuristic."""
    cores = [Worker(k, f"cpu{k}", "cpu", 0) for k in range(6)]
    fast = [Worker(6 + k, f"gpu{k}", "cuda", 0) for k in range(2)]
    platform = Platform("two kinds", (*cores, *fast), (Memory(0, "ram"),))
    better, gains = 0, []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        seconds = {f"k{k}": float(rng.uniform(0.5, 2.0)) for k in range(8)}
        seconds |= {f"cuda:k{k}": seconds[f"k{k}"] / float(rng.uniform(0.5, 8)) for k in range(8)}
        graph = random_graph(1000, seed * 1000 + number)
        found = tasksim.optimize(
            graph, platform, durations=seconds, time_s=time_s, seed=seed, method="annealing"
        )
        best_s = min(found.heuristics.values())
        better += found.makespan_s < best_s
        gains.append(1 - found.makespan_s / best_s)
        print(
            f"{number:3} {found.best_heuristic:10} {best_s:8.3f} s, optimised "
            f"{found.makespan_s:8.3f} s, {100 * gains[-1]:5.2f} % shorter, gap "
            f"{100 * found.gap:5.2f} %, {found.replays_per_s:.0f} replays/s",
            flush=True,
        )
    print(
        f"better than every heuristic on {better} of {count}, "
        f"{100 * statistics.median(gains):.2f} % in the median"
    )


def main() -> None:
    """Print the table, or what comes of random graphs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", help="the folder with sampling/")
    parser.add_argument("--tiles", type=int, nargs="+", default=[6, 8, 10, 12])
    parser.add_argument("--time", type=float, help="seconds per search (60)")
    parser.add_argument("--steps", type=int, help="candidates per search, instead of --time")
    parser.add_argument("--only", nargs="+", default=CASES, choices=CASES, metavar="APP,MACHINE")
    parser.add_argument("--without-copies", action="store_true", help="all workers at one memory")
    parser.add_argument("--noise", type=int, default=0, metavar="N", help="draws of durations")
    parser.add_argument("--ft10", action="store_true", help="the job shop of ten jobs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="auto", choices=["auto", "annealing", "solver"])
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random graphs")
    asked = parser.parse_args()
    if asked.random:
        random_graphs(asked.random, asked.time or 60.0, asked.seed)
    elif asked.ft10:
        job_shop(asked.time or 60.0)
    elif asked.data is None:
        parser.error("give the folder with StarPU's sampling/, or --random N")
    else:
        table(asked)


if __name__ == "__main__":
    main()
