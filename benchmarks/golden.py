"""Golden digests: did a change of the code change a byte of 200 random simulations?

    python benchmarks/golden.py record before.json    # with the code of before
    python benchmarks/golden.py check before.json     # with the code of now

Graphs (shipped and random), machines (one memory, several; overheads, small memories, buses),
schedulers, seeds, noise and simultaneous pushes are drawn from one seed, so both sides replay the
same. A line per scenario that differs, with the columns; exit 1 if there is one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import tasksim
from tasksim import RW, Commute, GraphBuilder, R, Reduce, Scratch, W
from tasksim.schedulers.registry import names

DRAWN_SCENARIOS = 200
SCHEDULERS = names(bare=True)
SHIPPED_GRAPHS = (
    ("cholesky", {"tiles": (4, 6, 10, 14)}),
    ("lu", {"tiles": (4, 6, 9)}),
    ("qr", {"tiles": (3, 5, 7)}),
    ("fmm", {"particles": (2000,), "height": (4,), "group_size": (4, 8)}),
)
DIGESTED_TABLES = ("tasks", "transfers", "memory")


def scenarios(seed: int = 0) -> list[dict[str, Any]]:
    """Draw what is to be replayed, as arguments of ``tasksim.simulate``."""
    return [_scenario(random.Random(f"{seed}/{number}")) for number in range(DRAWN_SCENARIOS)]


def _scenario(rng: random.Random) -> dict[str, Any]:
    sort = rng.choice(("measured", "shipped", "random", "random", "devices", "devices"))
    scheduler = rng.choice(SCHEDULERS)
    common = {"scheduler": scheduler, "seed": rng.randrange(100)}
    if rng.random() < 0.25:
        common["simultaneous_pushes"] = "blind"
    if sort == "measured":
        platform = tasksim.load_platform(rng.choice(("xeon-2c", "xeon-24c", "haswell24")))
        models = tasksim.ModelLibrary(platform.models_folder())
        graph = _shipped(rng, fmm=platform.name != "xeon-24c")
        noise = rng.choice(("none", "model"))
        return {**common, "graph": graph, "platform": platform, "models": models, "noise": noise}
    if sort == "shipped":
        graph = _shipped(rng)
        platform = rng.choice((tasksim.Platform.identical(rng.choice((1, 3, 8))), _flat(rng)))
    elif sort == "random":
        graph, platform = _drawn_graph(rng), _flat(rng)
    else:
        graph, platform = rng.choice((_drawn_graph, _shipped))(rng), None
        scale = float(graph.handle_size.max()) if len(graph.handle_size) else 8.0
        platform = _devices(rng, scale)
    kernels = {
        kernel: {name: rng.choice((1e-4, 2e-4, 3e-4, 7e-5)) for name in platform.architectures}
        for kernel in graph.kernels
    }
    models = tasksim.ConstantLibrary(kernels)
    return {**common, "graph": graph, "platform": platform, "models": models}


def _shipped(rng: random.Random, *, fmm: bool = True) -> tasksim.TaskGraph:
    name, choices = rng.choice(SHIPPED_GRAPHS if fmm else SHIPPED_GRAPHS[:-1])
    return tasksim.generate(name, **{key: rng.choice(values) for key, values in choices.items()})


def _drawn_graph(rng: random.Random) -> tasksim.TaskGraph:
    builder = GraphBuilder("drawn")
    size = rng.choice((8, 4096, 1_000_000))
    data = [
        builder.handle(f"x{i}", size_bytes=size * rng.choice((1, 1, 1, 2)))
        for i in range(rng.randrange(2, 12))
    ]
    for _ in range(rng.randrange(5, 150)):
        used = rng.sample(data, min(len(data), rng.randrange(4)))
        accesses = [rng.choice((R, R, W, RW, RW, Commute, Reduce, Scratch))(x) for x in used]
        kernel = rng.choice(("potrf", "gemm", "task"))
        builder.insert(kernel, *accesses, priority=rng.randrange(-3, 4), duration_s=1.0)
        if rng.random() < 0.1:
            builder.wont_use(rng.choice(data))
    return builder.build()


def _flat(rng: random.Random) -> tasksim.Platform:
    kinds = [rng.choice(("cpu", "big")) for _ in range(rng.randrange(1, 8))]
    overheads = rng.choice((
        tasksim.Overheads(),
        tasksim.Overheads(task_s=1e-5, wakeup_s=3e-6),
        tasksim.Overheads(submission_s=1e-5, task_s=1e-6, wakeup_s=2e-6),
        tasksim.Overheads(submission_s=1e-6, push_s=1e-6, fetch_s=1e-6, progress_s=1e-6),
    ))  # fmt: skip
    return tasksim.Platform(
        name="flat",
        workers=tuple(tasksim.Worker(i, f"{k}{i}", k, 0) for i, k in enumerate(kinds)),
        memories=(tasksim.Memory(0, "ram"),),
        overheads=overheads,
    )


def _devices(rng: random.Random, scale: float) -> tasksim.Platform:
    devices, cores = rng.randrange(1, 4), rng.randrange(1, 6)
    sharing = rng.choice((1, 1, 2))
    owners = [device for device in range(devices) for _ in range(sharing)]
    workers = [tasksim.Worker(i, f"gpu{i}", "cuda", d + 1) for i, d in enumerate(owners)]
    workers += [tasksim.Worker(len(owners) + i, f"cpu{i}", "cpu", 0) for i in range(cores)]
    size = rng.choice((None, 6.0, 8.0, 12.0, 30.0))
    memories = [tasksim.Memory(0, "ram")]
    memories += [
        tasksim.Memory(i + 1, f"m{i}", 0, None if size is None else size * scale)
        for i in range(devices)
    ]
    ends = [(0, i + 1) for i in range(devices)]
    if rng.random() < 0.5:
        ends += [(i + 1, j + 1) for i in range(devices) for j in range(i)]
    speed = scale / 1e-4
    links = [
        tasksim.Link(i, f"link{i}", None, speed * rng.choice((1, 3)), rng.choice((0.0, 1e-5)))
        for i in range(len(ends))
    ]
    links.append(tasksim.Link(len(links), "bus", None, speed * 2, shared=rng.random() < 0.8))
    bus = (links[-1].id,) if rng.random() < 0.6 else ()
    routes = [
        tasksim.Route(a, b, (i, *bus)) for i, (x, y) in enumerate(ends) for a, b in ((x, y), (y, x))
    ]
    overheads = rng.choice((
        tasksim.Overheads(),
        tasksim.Overheads(progress_s=1e-6),
        tasksim.Overheads(1e-6, 0.0, 0.0, 1e-6, 1e-6, 1e-6, 1e-5, 1e-5),
    ))  # fmt: skip
    allocation = rng.choice((
        tasksim.Allocation(),
        tasksim.Allocation(chunk_bytes=2 * scale, unit_bytes=1.0, largest_bytes=0.0),
        tasksim.Allocation(2e-5, 7e-5, chunk_bytes=scale, unit_bytes=1.0, largest_bytes=scale),
    ))  # fmt: skip
    return tasksim.Platform(
        name="machine",
        workers=tuple(workers),
        memories=tuple(memories),
        overheads=overheads,
        links=tuple(links),
        routes=tuple(routes),
        devices={"cuda": tasksim.Device(rng.randrange(1, 4), rng.choice(((), ("potrf",))))},
        allocation=allocation,
        copying=tasksim.Copying(
            fetches=rng.randrange(1, 6),
            serialised=rng.random() < 0.5,
            contention=rng.choice((0.0, 2.0)),
        ),
    )


def digests(scenario: dict[str, Any]) -> dict[str, Any]:
    """Replay *scenario*; return a digest per column, and what says which scenario it is."""
    told = {
        "label": f"{scenario['graph'].name} {len(scenario['graph'])} tasks,"
        f" {scenario['platform'].name}, {scenario['scheduler']}",
        "submission": scenario["platform"].overheads.submission_s > 0,
    }
    try:
        run = tasksim.simulate(**scenario)
    except tasksim.TasksimError as error:
        return {**told, "error": type(error).__name__}
    columns = {"makespan": run.makespan_s.hex(), "evictions": run.evictions}
    columns["bounds"] = {key: float(value).hex() for key, value in run.bounds.items()}
    for name in DIGESTED_TABLES:
        table = getattr(run, name)
        if table is not None:
            for column in table.dtypes:
                data = getattr(table, column).tobytes()
                columns[f"{name}.{column}"] = hashlib.sha256(data).hexdigest()[:16]
    return {**told, "columns": columns}


def main() -> None:
    """Record or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    now = [digests(scenario) for scenario in scenarios(arguments.seed)]
    print(f"{len(now)} scenarios in {time.perf_counter() - begun:.0f} s")
    if arguments.what == "record":
        arguments.file.write_text(json.dumps(now, indent=0) + "\n")
        return
    before = json.loads(arguments.file.read_text())
    for old, new in zip(before, now, strict=True):
        if "columns" in old and "columns" in new:  # columns that the code of before lacks
            new["columns"] = {k: v for k, v in new["columns"].items() if k in old["columns"]}
    differing = [pair for pair in zip(before, now, strict=True) if pair[0] != pair[1]]
    for number, (old, new) in enumerate(zip(before, now, strict=True)):
        if old != new:
            print(f"{number:3} {_difference(old, new)}")
    expected = [old for old, _ in differing if old["submission"]]
    print(
        f"{len(now) - len(differing)} equal, {len(differing)} differ"
        f" ({len(expected)} of them where a submission takes time)"
    )
    sys.exit(bool(differing))


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    mark = ", submission takes time" if old["submission"] else ""
    if "columns" not in old or "columns" not in new:
        return f"{old['label']}{mark}: {old.get('error')} before, {new.get('error')} now"
    keys = {**old["columns"], **new["columns"]}
    changed = [key for key in keys if old["columns"].get(key) != new["columns"].get(key)]
    return f"{old['label']}{mark}: {', '.join(changed)}"


if __name__ == "__main__":
    main()
