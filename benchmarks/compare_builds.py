"""Comparison of this build with another: engine, start-up, fidelity, models and pages, as ratios.

    python benchmarks/compare_builds.py --against tasksim-0.1.0-py3-none-manylinux_2_17_x86_64.whl
    python benchmarks/compare_builds.py --against HEAD~10      # a git revision, with its own core
    python benchmarks/compare_builds.py --markdown             # this build alone, for docs/scale.md

The other build is unpacked into build/compared/, and used with this Python and its packages. By
default it is the newest release in the git history (a tag v*), if there is one.

Each measurement is a new process. Rounds alternate between the builds, so that both see the same
machine. Times are processor time: on a busy machine they vary less than wall time. Printed are
medians of the rounds, and the median and the range of the ratios, this by the other: below 1, this
build is better. A reference loop in pure Python tells how fast the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).resolve().parents[1]
BUILDS_FOLDER: Final = ROOT / "build" / "compared"
"""Folder of the other builds, each unpacked and compiled once."""
DURATIONS_S: Final = {
    "potrf": 5e-3, "trsm": 10e-3, "syrk": 10e-3, "gemm": 18e-3,
    "cuda:potrf": 2e-3, "cuda:trsm": 3.4e-3, "cuda:syrk": 2e-3, "cuda:gemm": 2.8e-3,
}  # fmt: skip
GPU_PLATFORM: Final = """\
version: 1
name: gpus
memories: {ram: {}, gpu0: {size: 3 GiB}, gpu1: {size: 3 GiB}, gpu2: {size: 3 GiB}}
arch: {cpu: {}, cuda: {pipeline: 2}}
workers:
  cpu: {count: 12, memory: ram}
  cuda: {count: 3, memory: [gpu0, gpu1, gpu2], drivers: cpu}
overheads: {submission: 1 us, task: 1 us, push: 1 us, fetch: 1 us}
links:
  pcie0: {bandwidth: 6 GB/s, latency: 10 us, between: [ram, gpu0]}
  pcie1: {bandwidth: 6 GB/s, latency: 10 us, between: [ram, gpu1]}
  pcie2: {bandwidth: 6 GB/s, latency: 10 us, between: [ram, gpu2]}
"""

# Measurements. They use the public interface alone, which another build has, too.


def on_cores(small: bool) -> dict[str, float]:
    """Measure the generator, and a simulation on twelve cores."""
    import tasksim

    tasksim.generate("cholesky", tiles=2)  # imports count for the start-up alone
    begun = time.process_time()
    graph = tasksim.generate("cholesky", tiles=38 if small else 100)
    made_s = time.process_time() - begun
    return {
        "generator, us per task": 1e6 * made_s / len(graph),
        "simulation on cores, us per task": _us_per_task(graph, workers=12),
    }


def on_gpus(small: bool) -> dict[str, float]:
    """Measure a simulation with GPUs whose memories are too small for the data."""
    import tasksim

    graph = tasksim.generate("cholesky", tiles=38 if small else 72, tile_size=960)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gpus.yaml"
        file.write_text(GPU_PLATFORM, encoding="utf-8")
        cost_us = _us_per_task(graph, platform=file, scheduler="dmdas")
    return {"simulation with GPUs, us per task": cost_us}


def in_simpy(small: bool) -> dict[str, float]:
    """Measure a simulation by the reference engine."""
    import tasksim

    graph = tasksim.generate("cholesky", tiles=20 if small else 38)
    return {"SimPy's engine, us per task": _us_per_task(graph, workers=12, engine="simpy")}


def _us_per_task(graph: object, **given: object) -> float:
    import tasksim

    durations = {k: v for k, v in DURATIONS_S.items() if "platform" in given or ":" not in k}
    tasksim.simulate("cholesky tiles=2", durations=durations, **given)
    begun = time.process_time()
    run = tasksim.simulate(graph, durations=durations, **given)
    return 1e6 * (time.process_time() - begun) / len(run)


def many(small: bool) -> dict[str, float]:
    """Measure simulations that differ in their seeds."""
    import tasksim

    base = tasksim.Scenario("cholesky tiles=10", platform="xeon-24c", noise="model")
    scenarios = [base.vary(seed=seed) for seed in range(200 if small else 2000)]
    tasksim.simulate_many(scenarios[:2], threads=1)
    begun = time.process_time()
    tasksim.simulate_many(scenarios, threads=1)
    return {"simulate_many, us per run": 1e6 * (time.process_time() - begun) / len(scenarios)}


def start_up(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Measure whole commands that do little."""
    found = {}
    for name, line in {
        "tasksim --help, ms": ["--help"],
        "small simulation, ms": ["simulate", "cholesky", "tiles=10", "--platform", "xeon-24c"],
    }.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "tasksim", *line], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found[name] = 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return found


def fidelity(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Compare predictions of the recorded run in traces/ with it; the same on any machine."""
    import tasksim

    real = tasksim.load_run(ROOT / "traces" / "cholesky-12-xeon-2c")
    ahead = tasksim.simulate(real.graph_label, platform="xeon-2c", scheduler=real.scheduler)
    again = tasksim.simulate(real, durations="measured")
    return {
        "error of a prediction, %": 100 * abs(ahead.makespan_s / real.makespan_s - 1),
        "error of a replay, %": 100 * abs(again.makespan_s / real.makespan_s - 1),
    }


def models(small: bool) -> dict[str, float]:
    """Fit a model to made-up durations; return the error where the truth is known."""
    import numpy as np

    import tasksim

    rng, count = np.random.default_rng(0), 64 if small else 512

    def true_s(table: np.ndarray) -> np.ndarray:
        m, n = table.T
        return 1e-6 + 2e-11 * m * n * n * (1 + 16 / m)

    table = np.exp(rng.uniform(np.log(16), np.log(1024), (count, 2)))
    asked = np.exp(rng.uniform(np.log(16), np.log(1024), (1000, 2)))
    samples = tasksim.Samples(("m", "n"), table, true_s(table) * rng.lognormal(0, 0.05, count))
    kinds = ["hybrid"] if small else None
    begun = time.process_time()
    model = tasksim.select(samples, kinds).model
    took_s = time.process_time() - begun
    error = np.abs(np.log(model.predict(asked) / true_s(asked))).mean()
    return {"fit of a model, s": took_s, "error of the model, %": 100 * float(error)}


def page(small: bool) -> dict[str, float]:
    """Measure the writing of a page, and its size."""
    import tasksim

    run = tasksim.simulate(f"cholesky tiles={38 if small else 84}", platform="xeon-24c")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        tasksim.save_page(run, file)
        file.unlink()
        begun = time.process_time()
        tasksim.save_page(run, file)
        took_s = time.process_time() - begun
        return {"page of a run, s": took_s, "its size, MB": file.stat().st_size / 1e6}


MEASUREMENTS: Final[dict[str, Callable[[bool], dict[str, float]]]] = {
    each.__name__: each
    for each in (on_cores, on_gpus, in_simpy, many, start_up, fidelity, models, page)
}


# Builds


class NoBuildError(Exception):
    """The other build cannot be had; the message says why."""


def other_build(text: str, *, compiles: bool) -> Path:
    """Return the folder of another build: of a wheel, or of a git revision of this checkout.

    The core of a revision is compiled there, if *compiles*, unless its sources are those of this
    checkout. Raises :exc:`NoBuildError`.
    """
    if text.endswith(".whl"):
        wheel = Path(text)
        if not wheel.is_file():
            raise NoBuildError(f"{text}: no such file")
        folder = BUILDS_FOLDER / wheel.stem
        if not folder.is_dir():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
            warm_up(folder)
        return folder
    commit = _git("rev-parse", "--verify", "--quiet", "--short=12", f"{text}^{{commit}}")
    if not commit:
        raise NoBuildError(f"{text}: neither a wheel (.whl) nor a git revision")
    folder = BUILDS_FOLDER / commit.decode().strip()
    is_new = not folder.is_dir()
    if is_new:
        with tarfile.open(fileobj=BytesIO(_git("archive", commit.decode().strip()))) as archive:
            archive.extractall(folder, filter="data")
        # tasksim takes a library of the same sources, and refuses any other.
        for library in (ROOT / "tasksim" / "core").glob("*.so"):
            shutil.copy2(library, folder / "tasksim" / "core")
    core = "from tasksim.core.library import status; print(status().available)"
    if _asked(folder, "-c", core).strip() != "True":
        if not compiles:
            raise NoBuildError(f"{text}: its core has other sources, and is not compiled")
        _asked(folder, "-m", "tasksim.core.build", "--optional")
    if is_new:
        warm_up(folder)
    return folder


def warm_up(build: Path) -> None:
    """Measure all once: the first import of a module compiles it."""
    for name in MEASUREMENTS:
        measured(build, name, small=True)


def last_release() -> str | None:
    """Return the newest tag of a release before this commit; None without one."""
    tag = _git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD~1")
    return tag.decode().strip() or None


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    return done.stdout


def _asked(build: Path, *arguments: str) -> str:
    """Return what Python prints with the package of *build*."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(build)},
        cwd=build,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NoBuildError(f"{build}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")
    return done.stdout


# Rounds


def measured(build: Path, name: str, *, small: bool) -> dict[str, float]:
    """Return the figures of a measurement, in a new process."""
    size = ["--small"] if small else []
    figures: dict[str, float] = json.loads(_asked(build, __file__, "--measure", name, *size))
    return figures


def rounds(
    builds: list[Path], count: int, names: list[str], *, small: bool
) -> dict[str, list[tuple[float, ...]]]:
    """Return for each figure a value per build and round."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for turn in range(count):
        order = builds if turn % 2 == 0 else builds[::-1]
        for name in names:
            figures = {build: measured(build, name, small=small) for build in order}
            for figure in figures[builds[0]]:
                row = tuple(figures[build].get(figure, float("nan")) for build in builds)
                found.setdefault(figure, []).append(row)
    return found


def table(found: dict[str, list[tuple[float, ...]]], *, markdown: bool) -> str:
    """Return the medians and ratios as text, or as a table of Markdown."""
    heads, rows = ["figure", "this"], []
    for figure, values in found.items():
        medians = [statistics.median(column) for column in zip(*values, strict=True)]
        row = [figure, *(f"{median:.3g}" for median in medians)]
        if len(medians) > 1:
            ratios = [one / other if other else float("nan") for one, other in values]
            row.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
            heads = ["figure", "this", "other", "ratio"]
        rows.append(row)
    if markdown:
        lines = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n".join(
        f"{row[0]:34}" + "".join(f"{cell:>12}" for cell in row[1:3]) + f"   {''.join(row[3:])}"
        for row in [heads, *rows]
    )


def reference_loop_s() -> float:
    """Return the processor time of ten million additions in Python."""
    begun = time.process_time()
    exec(compile("s = 0\nfor i in range(10_000_000): s += i", "loop", "exec"), {})
    return time.process_time() - begun


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", metavar="BUILD", help="a wheel, or a git revision")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    parser.add_argument("--small", action="store_true", help="small graphs; compile no other core")
    parser.add_argument("--markdown", action="store_true", help="print a table of Markdown")
    parser.add_argument("--measure", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(MEASUREMENTS[given.measure](given.small)))
        return
    against, builds = given.against or last_release(), [ROOT]
    if against:
        try:
            builds.append(other_build(against, compiles=not given.small))
        except NoBuildError as error:
            if not given.small:
                parser.error(f"--against {error}")
            print(f"no other build: {error}")
    beside = f"beside {against}" if len(builds) > 1 else "alone"
    print(
        f"this build {beside}, {given.rounds} rounds; reference loop {reference_loop_s():.2f} s\n"
    )
    found = rounds(builds, given.rounds, given.only, small=given.small)
    print(table(found, markdown=given.markdown))


if __name__ == "__main__":
    main()
