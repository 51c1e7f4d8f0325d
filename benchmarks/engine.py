"""How fast is a simulation? Tasks per second in the engine, and whole commands.

    python benchmarks/engine.py            # all of it, about two minutes
    python benchmarks/engine.py --quick    # without the million tasks
    python benchmarks/engine.py --engines  # only the core beside SimPy's engine, and many replays
    python benchmarks/engine.py --growth   # only how the cost of a task grows: 10,000 to 100,000
    python benchmarks/engine.py --growth --million              # and to a million: half an hour
    python benchmarks/engine.py --growth --only gpu:dmdas,flat  # of some machines and schedulers

Cholesky on 12 workers, as StarPU-SimGrid's figures (StarPU 1.4.99, SimGrid 3.32, history models,
CPU only): 64,824 tasks take its whole process 6.8 s under eager, 6.0 s under dmdas.
Every figure is printed beside the time of a pure Python loop, to compare machines.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.machine.instant import SimultaneousPushes
    from tasksim.platform.description import Platform

PEER_S = {"eager": 6.8}
REFERENCE_LOOP_S = 0.69
DURATIONS = "potrf=1,trsm=3,syrk=3,gemm=6"
SCHEDULERS = (
    "eager", "prio", "random", "ws", "lws", "dm", "dmda", "dmdar", "dmdas", "dmdasd", "heteroprio",
    "graph_test", "modular-eager", "modular-prio", "modular-dmda", "modular-dmdas", "modular-heft",
)  # fmt: skip
DURATIONS_S = (  # on a core, on a device
    {"potrf": 5e-3, "trsm": 10e-3, "syrk": 10e-3, "gemm": 18e-3},
    {"potrf": 2e-3, "trsm": 3.4e-3, "syrk": 2e-3, "gemm": 2.8e-3},
)
DURATIONS_OF_KERNELS = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


def loop_s() -> float:
    """Time the reference loop."""
    loop = compile("s = 0\nfor i in range(10_000_000): s += i", "loop", "exec")
    begun = time.perf_counter()
    exec(loop, {})  # at the top level of a module, where names are looked up in a dictionary
    return time.perf_counter() - begun


def engine(tiles: int, scheduler: str, repetitions: int) -> None:
    """Print the engine's rate, the median of some repetitions."""
    from tasksim.engine.question import Question
    from tasksim.engine.replay import Replay
    from tasksim.graph.apps.registry import generate
    from tasksim.platform.description import Platform
    from tasksim.schedulers.registry import create

    begun = time.perf_counter()
    graph = generate("cholesky", tiles=tiles)
    build_s = time.perf_counter() - begun
    costs = np.array([[DURATIONS_OF_KERNELS[graph.kernels[k]] for k in graph.kernel.tolist()]])
    walls = []
    for _ in range(repetitions):
        replay = Replay(Question(graph, Platform.identical(12), create(scheduler), costs, costs))
        begun = time.perf_counter()
        makespan = replay.run(0)
        walls.append(time.perf_counter() - begun)
    wall = statistics.median(walls)
    print(
        f"{scheduler:8} tiles {tiles:4} {len(graph):9,} tasks  makespan {makespan:10.0f}"
        f"  graph {build_s:6.2f} s"
        f"  engine {wall:6.3f} s (min {min(walls):.3f}, max {max(walls):.3f})"
        f"  {len(graph) / wall:9,.0f} tasks/s  {1e6 * wall / len(graph):5.2f} us/task"
    )


def command(tiles: int, scheduler: str, repetitions: int) -> None:
    """Print the time of a whole command, start-up included, and the ratio to the peer."""
    line = [
        sys.executable, "-m", "tasksim", "simulate", "cholesky", f"tiles={tiles}",
        "--workers", "12", "--durations", DURATIONS, "--scheduler", scheduler, "--json",
    ]  # fmt: skip
    walls, answer = [], {}
    for _ in range(repetitions):
        begun = time.perf_counter()
        done = subprocess.run(line, check=True, capture_output=True, text=True)
        walls.append(time.perf_counter() - begun)
        answer = json.loads(done.stdout)
    wall = statistics.median(walls)
    peer = (
        f"  the peer {PEER_S[scheduler]} s: {PEER_S[scheduler] / wall:.1f} times faster"
        if (scheduler in PEER_S and tiles == 72)
        else ""
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(
        f"simulate {scheduler:8} tiles {tiles:4} {answer['graph']['tasks']:9,} tasks"
        f"  whole command {wall:6.2f} s (min {min(walls):.2f}, max {max(walls):.2f})"
        f"  engine {answer['tasks_per_s']:9,.0f} tasks/s  peak so far {peak:.2f} GiB{peer}"
    )


def own_scheduler(tiles: int, rounds: int) -> None:
    """Print how much faster the core is than SimPy's engine under the tutorial's own scheduler."""
    import numpy as np

    from tasksim.engine.choice import replayed
    from tasksim.engine.question import Question
    from tasksim.graph.apps.registry import generate
    from tasksim.platform.description import Platform

    text = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
    own: dict[str, Any] = {}
    exec(text.partition("<!-- file: mysched.py -->\n```python\n")[2].partition("```")[0], own)
    graph = generate("cholesky", tiles=tiles)
    costs = np.array([[DURATIONS_OF_KERNELS[graph.kernels[k]] for k in graph.kernel.tolist()]])
    spent: dict[str, list[float]] = {"simpy": [], "compiled": []}
    for _ in range(rounds):
        for engine_name, seconds in spent.items():
            scheduler = own["LongestFirst"]()
            question = Question(graph, Platform.identical(12), scheduler, costs, costs)
            begun = time.process_time()
            replayed(question, 0, engine_name)
            seconds.append(time.process_time() - begun)
    simpy_s, core_s = (statistics.median(seconds) for seconds in spent.values())
    print(
        f"the tutorial's scheduler, tiles {tiles}: SimPy {1e6 * simpy_s / len(graph):.2f}, core"
        f" {1e6 * core_s / len(graph):.2f} us/task of CPU time, ratio {simpy_s / core_s:.1f}"
    )


def devices(limit: float | None) -> Platform:
    """Return a machine of nine cores and three devices, with memories of *limit* bytes."""
    from tasksim.platform.description import (
        Allocation,
        Copying,
        Device,
        Link,
        Memory,
        Overheads,
        Platform,
        Route,
        Worker,
    )

    drivers = tuple(Worker(i, f"gpu{i}", "cuda", i + 1) for i in range(3))
    cores = tuple(Worker(3 + i, f"cpu{i}", "cpu", 0) for i in range(9))
    links = (Link(0, "bus", None, 6e9), *(Link(i, f"link{i}", None, 6e9, 1e-5) for i in (1, 2, 3)))
    ways = [(0, i) for i in (1, 2, 3)] + [(i, 0) for i in (1, 2, 3)]
    return Platform(
        name="devices",
        workers=drivers + cores,
        memories=(Memory(0, "ram"), *(Memory(i, f"m{i}", 0, limit) for i in (1, 2, 3))),
        overheads=Overheads(1e-6, 0.0, 0.0, 1e-6, 1e-6, 1e-6, 1e-5, 1e-5),
        links=links,
        routes=tuple(Route(a, b, (0, a + b)) for a, b in ways),
        devices={"cuda": Device(2, ())},
        allocation=Allocation(175e-6, 750e-6),
        copying=Copying(fetches=5, serialised=True),
    )


def machines(data_bytes: float) -> dict[str, Platform]:
    """Return the machines of the growth table, for graphs with *data_bytes* of data."""
    from tasksim.platform.description import Overheads, Platform

    flat = Platform.identical(12)
    return {
        "flat": flat,
        "overheads": replace(flat, overheads=Overheads(1e-6, 0.0, 0.0, 1e-6, 1e-6, 1e-6)),
        "workers": Platform.identical(1000),
        "gpu": devices(None),
        "small": devices(data_bytes / 4),
    }


def cost_per_task(tiles: int, machine: str, scheduler: str) -> tuple[int, float]:
    """Return how many tasks there are, and the CPU time of one in microseconds."""
    from tasksim.engine.question import Question
    from tasksim.engine.replay import Replay
    from tasksim.graph.apps.registry import generate
    from tasksim.schedulers.registry import create

    graph = generate("cholesky", tiles=tiles, tile_size=960, dtype="float32")
    platform = machines(float(graph.handle_size.sum()))[machine]
    costs = np.array([
        [DURATIONS_S[c.architecture == "cuda"][graph.kernels[k]] for k in graph.kernel.tolist()]
        for c in platform.classes
    ])  # fmt: skip
    replay = Replay(Question(graph, platform, create(scheduler), costs, costs))
    begun = time.process_time()
    replay.run(0)
    return len(graph), 1e6 * (time.process_time() - begun) / len(graph)


def engines(
    tiles: int,
    rounds: int,
    cases: Sequence[str] = ("flat", "overheads", "gpu"),
    schedulers: Sequence[str] = ("eager", "dmdas", "lws"),
) -> None:
    """Print how much faster the core is than SimPy's engine, rounds of both interleaved.

    The core's rate is that of its fastest round, all that is asked of it included.
    """
    import numpy as np

    from tasksim.engine.choice import replayed
    from tasksim.engine.question import Question
    from tasksim.graph.apps.registry import generate
    from tasksim.schedulers.registry import create

    graph = generate("cholesky", tiles=tiles, tile_size=960, dtype="float32")
    for machine in cases:
        platform = machines(float(graph.handle_size.sum()))[machine]
        costs = np.array(
            [
                [
                    DURATIONS_S[c.architecture == "cuda"][graph.kernels[k]]
                    for k in graph.kernel.tolist()
                ]
                for c in platform.classes
            ]
        )
        for scheduler in schedulers:
            spent: dict[str, list[float]] = {"simpy": [], "compiled": []}
            for _ in range(rounds):
                for name, seconds in spent.items():
                    question = Question(graph, platform, create(scheduler), costs, costs)
                    begun = time.process_time()
                    replayed(question, 0, name)
                    seconds.append(time.process_time() - begun)
            ratios = sorted(s / c for s, c in zip(*spent.values(), strict=True))
            print(
                f"{machine:10} {scheduler:6} {len(graph):,} tasks: SimPy"
                f" {statistics.median(spent['simpy']):6.3f} s, core"
                f" {statistics.median(spent['compiled']):6.4f} s of CPU time, ratio"
                f" {statistics.median(ratios):5.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}), core"
                f" {len(graph) / min(spent['compiled']):,.0f} tasks/s",
                flush=True,
            )


def threads(tiles: int, rounds: int) -> None:
    """Print what StarPU-SimGrid's threads cost, which the core alone has, beside serial pushes."""
    import numpy as np

    from tasksim.engine.choice import replayed
    from tasksim.engine.question import Question
    from tasksim.graph.apps.registry import generate
    from tasksim.schedulers.registry import create

    graph = generate("cholesky", tiles=tiles, tile_size=960, dtype="float32")
    kernels = graph.kernel.tolist()
    for machine in ("overheads", "gpu"):
        platform = machines(float(graph.handle_size.sum()))[machine]
        of_class = [DURATIONS_S[c.architecture == "cuda"] for c in platform.classes]
        costs = np.array([[times[graph.kernels[k]] for k in kernels] for times in of_class])
        for scheduler in ("eager", "prio", "ws"):
            spent: dict[SimultaneousPushes, list[float]] = {"serial": [], "blind": []}
            for _ in range(rounds):
                for pushes, seconds in spent.items():
                    policy = create(scheduler)
                    question = Question(graph, platform, policy, costs, costs, None, pushes)
                    begun = time.process_time()
                    replayed(question, 0, "compiled")
                    seconds.append(time.process_time() - begun)
            print(
                f"{machine:10} {scheduler:6} threads {len(graph):,} tasks:"
                f" {min(spent['blind']):6.4f} s of CPU time,"
                f" {min(spent['blind']) / min(spent['serial']):5.1f} times as long as without"
            )


def many(tiles: int, replays: int) -> None:
    """Print how long many replays of one graph take, on one thread."""
    from tasksim.engine.batch import totals
    from tasksim.engine.simulation import Simulation
    from tasksim.graph.apps.registry import generate
    from tasksim.models.kinds.given import ConstantLibrary

    graph = generate("cholesky", tiles=tiles, tile_size=960, dtype="float32")
    for machine in ("overheads", "gpu"):
        platform = machines(float(graph.handle_size.sum()))[machine]
        models = ConstantLibrary({f"{name}_float32": s for name, s in DURATIONS_S[0].items()})
        for scheduler in ("eager", "dmdas"):
            asked = [
                Simulation(graph, platform, models, scheduler, seed) for seed in range(replays)
            ]
            begun = time.process_time()
            for _ in totals(asked):
                pass
            print(
                f"{machine:10} {scheduler:6} {replays:,} replays of {len(graph):,} tasks:"
                f" {time.process_time() - begun:.2f} s of CPU time, one thread"
            )


def noisy(tiles: int, replays: int) -> None:
    """Print how long scenarios with noise take together, and to count tasks on critical paths."""
    from tasksim import Scenario, simulate_many

    base = Scenario(f"cholesky tiles={tiles}", platform="xeon-24c", noise="model")
    scenarios = [base.vary(seed=seed) for seed in range(replays)]
    begun = time.process_time()
    found = simulate_many(scenarios, threads=1)
    print(
        f"{'noise':10} {'lws':6} {replays:,} scenarios with noise:"
        f" {time.process_time() - begun:.2f} s of CPU time, one thread"
    )
    begun = time.process_time()
    found.critical_counts()
    print(
        f"{'':17} their tasks on critical paths, counted:"
        f" {time.process_time() - begun:.2f} s of CPU time, all threads"
    )


def growth(only: list[str], *, million: bool) -> None:
    """Print what a task costs in small and large graphs, for each machine and scheduler.

    "small" has memories for a quarter of the data each, whatever the graph: data leave them all
    the time.
    """
    for machine in machines(1.0):
        for scheduler in SCHEDULERS:
            if only and not {machine, scheduler, f"{machine}:{scheduler}"}.intersection(only):
                continue
            text, first = f"{machine:10} {scheduler:14}", 0.0
            for tiles in (38, 84, 181) if million else (38, 84):
                tasks, cost = cost_per_task(tiles, machine, scheduler)
                first = first or cost
                text += f"  {tasks:9,} tasks {cost:7.2f} us/task"
                text += f" ratio {cost / first:5.2f}" if tiles > 38 else ""
            print(text, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave the million tasks out")
    parser.add_argument("--engines", action="store_true", help="only the core beside SimPy's")
    parser.add_argument("--growth", action="store_true", help="only the growth of a task's cost")
    parser.add_argument("--million", action="store_true", help="with --growth: a million tasks too")
    parser.add_argument("--only", default="", help="with --growth: machines, schedulers, or pairs")
    arguments = parser.parse_args()
    quick = arguments.quick
    if arguments.growth:
        growth([name for name in arguments.only.split(",") if name], million=arguments.million)
        return
    if arguments.engines:
        engines(72, 5)
        threads(20, 3)
        many(20, 1000)
        noisy(20, 1000)
        return
    loop = statistics.median(loop_s() for _ in range(3))
    print(
        f"reference loop {loop:.2f} s; the targets were set where it takes {REFERENCE_LOOP_S} s\n"
    )
    for scheduler in ("eager", "prio", "random", "ws", "lws", "dm"):
        engine(72, scheduler, 5)
    print()
    engine(38, "eager", 7)
    own_scheduler(38, 7)
    print()
    engines(72, 3)
    threads(20, 3)
    many(20, 1000)
    noisy(20, 1000)
    print()
    if not quick:
        engine(181, "eager", 3)
    print()
    helps = []
    for _ in range(5):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "tasksim", "--help"], check=True, capture_output=True)
        helps.append(time.perf_counter() - begun)
    print(f"tasksim --help: {statistics.median(helps):.3f} s")
    command(72, "eager", 5)
    if not quick:
        command(181, "eager", 1)


if __name__ == "__main__":
    main()
