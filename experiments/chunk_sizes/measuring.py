"""Steps: loops run here with every chunk size, learners judged, loops simulated."""

from __future__ import annotations

import csv
import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tasksim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from experiments.frame import Work

__all__ = ["curves", "examples", "judging", "schedules", "simulated", "sweep"]

VECTOR_SIZES: Final = (15_000, 1_500_000)
MATRIX_SIZES: Final = (96, 700)
"""Smallest and largest size, from one that fits in the nearest cache to one that fits in none."""
VECTOR_BLOCK: Final = 4096
MATRIX_BLOCK: Final = 8
"""Elements, or rows, of a block: the paper's block of a vector, and a few rows."""
FLOP_RATES: Final = {"vector": 4e9, "matrix": 3e9, "matrix-vector": 8e9, "multiply": 2e10}
"""Orders of magnitude of flop/s, which determine only how many passes a run has."""
MAX_PASSES: Final = 200
SCHEDULES: Final = ("static", "guided", "factoring", "trapezoid")


def is_vector(operation: str) -> bool:
    """Return whether an operation is one over elements, not over rows."""
    return not operation.startswith("matrix")


def flop(operation: str, n: int) -> float:
    """Return the operations of one pass."""
    if "multiply" in operation:
        return 2.0 * n**3
    if operation == "matrix-vector":
        return 2.0 * n**2
    return float({"daxpy": 2 * n}.get(operation, n if is_vector(operation) else n**2))


def loop(operation: str, n: int, threads: int, run_s: float) -> dict[str, Any]:
    """Return a loop to run: its settings, and what a table says of it."""
    kind = (
        "multiply" if "multiply" in operation
        else operation if operation in FLOP_RATES
        else "vector" if is_vector(operation) else "matrix"
    )  # fmt: skip
    block = VECTOR_BLOCK if is_vector(operation) else MATRIX_BLOCK
    each = flop(operation, n)
    passes = min(MAX_PASSES, max(1, round(run_s * FLOP_RATES[kind] * threads / each)))
    return {
        "operation": operation, "n": n, "block": block, "iterations": passes, "threads": threads,
        "flop": each * passes, "blocks": -(-n // block),
    }  # fmt: skip


def sizes(operation: str, count: int) -> list[int]:
    """Return sizes evenly over the logarithms of the range of an operation."""
    low, high = VECTOR_SIZES if is_vector(operation) else MATRIX_SIZES
    return [round(n) for n in np.geomspace(low, high, count)]


def measured(work: Work, asked: Mapping[str, Any], choices: Iterable[str]) -> dict[str, Any]:
    """Return the performance of each choice in MFlop/s, the median of interleaved runs.

    A choice is a chunk size, or the name of a schedule. Beside it, how many runs others disturbed.
    """
    names = list(choices)
    scenarios = [
        tasksim.Scenario(
            words_of(asked, choice), workers=asked["threads"], clock="native",
            scheduler=work.settings["scheduler"],
        )
        for choice in names
    ]  # fmt: skip
    done = tasksim.execute_many(
        scenarios, work.settings["repetitions"], patience_s=work.settings["patience_s"]
    )
    pairs = zip(names, done.scenarios, strict=True)
    return {
        "mflops": {choice: 1e-6 * asked["flop"] / runs.median_s for choice, runs in pairs},
        "runs": len(names) * work.settings["repetitions"],
        "disturbed": None if done.calm is None else done.calm.disturbed,
    }


def words_of(asked: Mapping[str, Any], choice: str) -> str:
    """Return the loop with a choice, as a command has it."""
    names = ("operation", "n", "block", "iterations", "threads", "block_columns")
    given = {name: asked[name] for name in names if name in asked}
    if choice in SCHEDULES:
        given |= {"schedule": choice, "chunk_size": 1}
    else:
        given["chunk_size"] = choice
    return "loop " + " ".join(f"{name}={value}" for name, value in given.items())


def _told(asked: Mapping[str, Any]) -> str:
    return f"{asked['operation']}-{asked['n']}-{asked['threads']}"


def _each(
    work: Work, loops: Sequence[Mapping[str, Any]], ask: Callable[[Any], dict[str, Any]]
) -> list[dict[str, Any]]:
    found = []
    for number, asked in enumerate(loops):
        work.progress(f"{asked['operation']} n={asked['n']}", number / len(loops))
        found.append(work.kept(_told(asked), partial(_asked, ask, asked)))
    return found


def _asked(ask: Callable[[Any], dict[str, Any]], asked: Mapping[str, Any]) -> dict[str, Any]:
    return {**asked, **ask(asked)}


def chunk_choices(work: Work, asked: Mapping[str, Any]) -> list[str]:
    """Return the chunk sizes that a loop has blocks for; one at least."""
    chunks = work.settings["chunks"]
    return [str(c) for c in chunks if c <= max(asked["blocks"], min(chunks))]


def examples(work: Work) -> list[dict[str, Any]]:
    """Run each operation of the settings in several sizes, with all chunks and threads."""
    run_s = 1e-3 * work.settings["run_ms"]
    loops = [
        loop(operation, n, threads, run_s)
        for operation in work.settings["operations"]
        for n in sizes(operation, work.settings["sizes"])
        for threads in work.settings["threads"]
    ]
    return _each(work, loops, lambda asked: measured(work, asked, chunk_choices(work, asked)))


def curves(work: Work) -> list[dict[str, Any]]:
    """Run the loops of figures 7 to 10: one size of each, over the chunk sizes."""
    run_s = 1e-3 * work.settings["run_ms"]
    loops = [
        loop(operation, sizes(operation, 4)[2], threads, run_s)
        for operation in work.settings["shown"]
        for threads in work.settings["threads"]
    ]
    return _each(work, loops, lambda asked: measured(work, asked, chunk_choices(work, asked)))


def judging(work: Work) -> dict[str, Any]:
    """Judge the methods on what was measured, and write the tree as code."""
    chunks = [str(chunk) for chunk in work.settings["chunks"]]
    with (work.folder / "loops.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["operation", "Nthr", "Ms", "Mflop", "Nite", *chunks])
        for row in work["examples"]:
            writer.writerow([
                row["operation"], row["threads"], row["n"],
                1e-6 * flop(row["operation"], row["n"]), row["blocks"],
                *(row["mflops"].get(chunk, "") for chunk in chunks),
            ])  # fmt: skip
    common = ["loops.csv", "--choices", ",".join(chunks), "--limit", "Nite", "--json"]
    features = ["--features", "Nthr,Ms,Mflop,Nite"]
    found = {
        name: json.loads(work.tasksim("tune", "table", *common, *more))
        for name, more in {
            "shuffled": [*features, "--timed"],
            "logistic": [*features, "--preto", "logistic", "--posto", "linear", "--timed"],
            "named": ["--features", "operation,Nthr,Ms,Mflop,Nite"],
        }.items()
    }
    if len(set(work.settings["operations"])) > 1:
        words = [*features, "--leave-one-out", "operation"]
        found["left out"] = json.loads(work.tasksim("tune", "table", *common, *words))
    trees = ["tree.h", "tree.json"]
    written = [word for name in trees for word in ("-o", name)]
    work.tasksim(
        "tune", "table", *common, *features, "--choose", "chunk_size", "--threshold", "0.97",
        *written, "--force",
    )  # fmt: skip
    found["header"] = (work.folder / "tree.h").read_text()
    found["tree"] = json.loads((work.folder / "tree.json").read_text())
    return found


def chosen(tree: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Return the chunk size that a tree says for a loop, no larger than it has blocks."""
    values = {
        "Nthr": asked["threads"], "Ms": asked["n"], "Nite": asked["blocks"],
        "Mflop": 1e-6 * flop(asked["operation"], asked["n"]),
    }  # fmt: skip
    node = tree["tree"]
    while "choice" not in node:
        node = node["low" if values[node["feature"]] <= node["threshold"] else "high"]
    return str(min(int(node["choice"]), asked["blocks"]))


def sweep(work: Work) -> list[dict[str, Any]]:
    """Run loops over their sizes: by the old formula, in equal shares, as the tree says.

    The old formula knows no blocks: a matrix is cut into as many parts as there are threads.
    """
    run_s = 1e-3 * work.settings["run_ms"]
    tree = work["judging"]["tree"]
    most = max(work.settings["chunks"])
    loops = [
        loop(operation, n, threads, run_s)
        for operation in work.settings["shown"]
        for n in sizes(operation, work.settings["points"])
        for threads in work.settings["threads"]
    ]

    def ask(asked: Mapping[str, Any]) -> dict[str, Any]:
        equal = str(max(1, min(most, round(asked["blocks"] / asked["threads"]))))
        learned = chosen(tree, asked)
        found = measured(work, asked, {equal, learned, "static"})
        return {
            "learned_chunk": int(learned), "equal_chunk": int(equal),
            "mflops": {way: found["mflops"][choice] for way, choice in
                       (("old", "static"), ("equal share", equal), ("learned", learned))},
        }  # fmt: skip

    return _each(work, loops, ask)


def schedules(work: Work) -> list[dict[str, Any]]:
    """Run the loops of figures 7 to 10 by schedules whose chunks shrink, on the most threads."""
    run_s, most = 1e-3 * work.settings["run_ms"], max(work.settings["threads"])
    loops = [
        loop(operation, n, most, run_s)
        for operation in work.settings["shown"]
        for n in sizes(operation, 3)
    ]

    def ask(asked: Mapping[str, Any]) -> dict[str, Any]:
        return measured(work, asked, [*chunk_choices(work, asked), *SCHEDULES])

    return _each(work, loops, ask)


def simulated(work: Work) -> dict[str, Any]:
    """Calibrate the loops' kernels with fewer passes; simulate all choices of each curve."""
    rows = []
    loops = work["curves"]
    for number, asked in enumerate(loops):
        work.progress(f"{asked['operation']} n={asked['n']}", number / len(loops))
        rows.append(work.kept(_told(asked), partial(_simulated, work, asked)))
    return {"rows": rows}


def _simulated(work: Work, asked: Mapping[str, Any]) -> dict[str, Any]:
    choices, name, workers = list(asked["mflops"]), _told(asked), asked["threads"]
    fewer = {**asked, "iterations": max(2, asked["iterations"] // 4)}
    tasksim.calibrate(
        [words_of(fewer, choice) for choice in choices], work.folder / "lib", workers=workers,
        machine=name, options=tasksim.CalibrationOptions(
            max_seconds=work.settings["calibration_s"], schedulers=(work.settings["scheduler"],)
        ),
    )  # fmt: skip
    replays = tasksim.simulate_many(
        tasksim.Scenario(
            words_of(asked, choice), scheduler=work.settings["scheduler"],
            platform=work.folder / "lib" / "platforms" / f"{name}.yaml",
            models=work.folder / "lib" / "models" / name,
        )
        for choice in choices
    )  # fmt: skip
    return {
        **{key: asked[key] for key in ("operation", "n", "threads")},
        "measured": asked["mflops"],
        "simulated": {
            choice: 1e-6 * asked["flop"] / makespan_s
            for choice, makespan_s in zip(choices, replays.makespan_s.tolist(), strict=True)
        },
    }
