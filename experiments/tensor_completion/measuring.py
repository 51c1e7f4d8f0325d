"""Durations to model: kernels measured here, a broadcast and an FMM simulated, two made up."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

import tasksim
from experiments.tensor_completion.applications import (
    AMG,
    KRIPKE,
    Application,
    broadcast,
    fmm,
    kernel,
    mpi,
)
from experiments.tensor_completion.datasets import DURATION, write_means
from tasksim import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from experiments.frame import Work

__all__ = ["Case", "applications", "cases", "file_of", "make_beyond", "make_datasets"]

CHUNK_CONFIGURATIONS: Final = 100
"""Number of simulated configurations that are kept at once: an interruption loses no more."""
NETWORK: Final = (
    "fat-tree:children=[{ppn},{nodes}],parents=[1,1],cables=[1,1],bandwidth=12.5GB/s,latency=1us"
)
"""Network of the broadcast: ranks of a node share its cable to the switch between nodes."""
MAX_MPI_BYTES: Final = 2**22
"""Largest message of the broadcast that is measured here, in bytes: some milliseconds."""
LEAST_MPI: Final = 60
"""Smallest number of configurations of that broadcast: of fewer, too few are left to judge by."""
SIZES_BEYOND: Final = (8, 4, 2, 1)
"""Largest sizes that models learn from, as parts of half the range: N = 2^8 to 2^11 in the paper,
where the test is from 2^11 to 2^12."""
LEAST_TOP: Final = 64
"""Smallest size up to which is learnt: from 32 to less, there is nothing to learn."""
NODES_BEYOND: Final = (16, 8, 4, 2)
"""Most nodes that models learn from, as parts of all: 8 to 64 of 128 in the paper."""


def applications(work: Work) -> dict[str, Application]:
    """Return the applications by name, those of the settings."""
    settings = work.settings
    found: dict[str, Application] = {}
    known = json.loads(work.tasksim("list", "kernels", "--json"))["kernels"]
    for name in settings["kernels"]:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f", did you mean '{near[0]}'?" if near else ""
            raise InputError(f"--kernels: unknown '{name}'{hint} (known: {', '.join(known)})")
        parameters = tuple(word.partition("=")[0] for word in known[name].split())
        found[name] = kernel(name, parameters, settings["largest"])
    others = (
        broadcast(settings["broadcast_ranks"]), mpi(MAX_MPI_BYTES), fmm(settings["particles"]),
        AMG, KRIPKE,
    )  # fmt: skip
    wanted = set(settings["applications"])
    if work.mpiexec is None:
        wanted.discard("mpi")
    return found | {a.name: a for a in others if a.name in wanted}


def file_of(work: Work, name: str) -> Path:
    """Return the file of a dataset."""
    return work.folder.parent / "datasets" / f"{name}.csv"


def make_datasets(work: Work) -> dict[str, Any]:
    """Make a file of configurations and durations of each application; return what they are."""
    _check(work.settings)
    found, known = {}, applications(work)
    for number, (name, application) in enumerate(known.items()):
        work.progress(name, number / len(known))
        make = partial(_dataset, work, application, number / len(known), 1 / len(known))
        found[name] = work.kept(f"made-{name}", make)
    return found


def _check(settings: Mapping[str, Any]) -> None:
    """Raise for an algorithm or a scheduler that there is not, before anything is measured."""
    for algorithm, scheduler in ((settings["algorithm"], "lws"), (None, settings["scheduler"])):
        graph = "chain length=1"
        if algorithm is not None:
            graph = f"collective operation=bcast ranks=2 algorithm={algorithm}"
        tasksim.simulate(graph, workers=2, scheduler=scheduler)


def _dataset(work: Work, application: Application, done: float, share: float) -> dict[str, Any]:
    settings, path = work.settings, work.folder / f"{application.name}.csv"
    if application.name == "mpi":
        count = _broadcast_here(work, application, path)
    elif application.source == "measured here":
        count = _measured(work, application, path, settings["measured"], settings["seconds"])
    else:
        if application.law is not None:
            table = application.made_up(settings["made_up"], settings["seed"])
        else:
            drawn = application.draw(settings["simulated"], settings["seed"])
            models = _fmm_models(work) if application.name == "fmm" else None
            table = _simulated(work, application, drawn, "all", models, (done, share))
        count = write_means(table, path, application.axes)
    return {
        "title": application.title,
        "source": application.source,
        "configurations": count,
        "parameters": {
            name: {"values": axis.text(), "role": axis.role}
            for name, axis in application.axes.items()
        },
    }


def _measured(
    work: Work, application: Application, path: Path, count: int, seconds: float,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> int:  # fmt: skip
    """Measure a kernel; return for how many configurations."""
    limits = limits or {}
    words = []
    for name, axis in application.axes.items():
        low, high = limits.get(name, axis.ends)
        words.append(f"{name}={low:.0f}..{high:.0f}" + ("" if axis.even else ":log"))
    if application.legal is not None:
        square = application.axes["n"].high
        words += ["--where", f"m >= n and m*n <= {square * square:.0f}"]
    raw = path.with_name(f"{path.stem}-samples.csv")
    # What was measured before an interruption is not measured again.
    begun = ["--resume"] if raw.exists() else []
    work.tasksim(
        "measure", application.name, *words, "--samples", count, "--budget", f"{seconds:g}s",
        "--repetitions", work.settings["repetitions"], "--tolerance", "2%",
        "--seed", work.settings["seed"], "-o", str(raw.relative_to(work.folder)), *begun,
    )  # fmt: skip
    return write_means(pd.read_csv(raw), path, application.axes)


def _broadcast_here(work: Work, application: Application, path: Path) -> int:
    """Measure the MPI library's broadcast; return for how many configurations."""
    settings, size = work.settings, application.axes["size_bytes"]
    raw, count = path.with_name("mpi-samples.csv"), max(LEAST_MPI, settings["measured"] // 4)
    work.tasksim(
        "measure", "collective", "operation=bcast", "ranks=2,4",
        f"size_bytes={size.low:.0f}..{size.high:.0f}:log", "--samples", count,
        "--budget", f"{settings['seconds'] / 2:g}s", "--repetitions", 4 * settings["repetitions"],
        "--seed", settings["seed"], "-o", raw.name, "--force", ranks=4,
    )  # fmt: skip
    # Ranks that share cores wait for each other now and then: the median is what is typical.
    samples = pd.read_csv(raw)
    typical = samples.groupby(list(application.axes))[DURATION].median()
    return write_means(typical.reset_index(), path, application.axes)


def _simulated(
    work: Work, application: Application, drawn: pd.DataFrame, label: str, models: Path | None,
    progress: tuple[float, float] = (0.0, 1.0),
) -> pd.DataFrame:  # fmt: skip
    """Return configurations with simulated durations; made in parts, each kept."""
    seconds: list[float] = []
    for start in range(0, len(drawn), CHUNK_CONFIGURATIONS):
        part = drawn.iloc[start : start + CHUNK_CONFIGURATIONS]
        done = progress[0] + progress[1] * start / len(drawn)
        work.progress(f"{application.name}, {start}/{len(drawn)}", done)
        make = partial(_simulate, work.settings, application.name, part, models)
        seconds += work.kept(f"{application.name}-{label}-{start}", make)
    return drawn.assign(**{DURATION: seconds})


def _simulate(
    settings: Mapping[str, Any], name: str, part: pd.DataFrame, models: Path | None
) -> list[float]:
    seconds = []
    for row in part.to_dict("records"):
        if name == "broadcast":
            ranks = int(row["nodes"] * row["ppn"])
            network = NETWORK.format(nodes=int(row["nodes"]), ppn=int(row["ppn"]))
            run = tasksim.simulate(
                f"collective operation=bcast ranks={ranks} size_bytes={int(row['size_bytes'])} "
                f"algorithm={settings['algorithm']}",
                workers=1, nodes=ranks, grid=f"1x{ranks}", network=network,
            )  # fmt: skip
        else:
            arguments = " ".join(f"{k}={_text(v)}" for k, v in row.items() if k != "workers")
            run = tasksim.simulate(
                f"fmm {arguments}", models=models, workers=int(row["workers"]),
                scheduler=settings["scheduler"],
            )  # fmt: skip
        seconds.append(float(run.makespan_s))
    return seconds


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"


def _fmm_models(work: Work) -> Path:
    """Measure the kernels of the FMM here, and fit models to them; return their folder."""
    settings, folder = work.settings, work.folder / "fmm-models"
    work.kept("fmm-measured", lambda: work.tasksim(
        "measure", "fmm", f"particles=512..{settings['particles']}:log", "height=3,4,5",
        "group_size=16..256:log", "order=2..8", "distribution=cube,ellipsoid",
        "--samples", 400, "--budget", f"{settings['seconds']:g}s", "--seed", settings["seed"],
        "-o", "fmm-samples", "--force",
    ))  # fmt: skip
    folder.mkdir(exist_ok=True)
    for path in sorted((work.folder / "fmm-samples").glob("*.samples.csv")):
        name = path.name.partition(".")[0]
        if not (folder / f"{name}.json").exists():
            work.tasksim(
                "fit", f"fmm-samples/{path.name}", "--kind", "hybrid", "--budget", "4s",
                "-o", f"fmm-models/{name}.json",
            )  # fmt: skip
    return folder


# --- beyond what was measured --------------------------------------------------------------------


class Case:
    """Extrapolation of some parameters of an application: models learn below, the test is beyond.

    Attributes
    ----------
    name
        Of its files: ``gemm-m``, ``broadcast-nodes``.
    application
        The application.
    parameters
        Those that are extrapolated.
    tops
        Largest values to learn from, ascending.
    beyond
        Range of the test.
    """

    def __init__(
        self, application: Application, parameters: tuple[str, ...], tops: tuple[float, ...],
        beyond: tuple[float, float],
    ) -> None:  # fmt: skip
        self.name = "-".join([application.name, *parameters])
        self.application, self.parameters = application, parameters
        self.tops, self.beyond = tops, beyond

    def below(self, top: float) -> dict[str, tuple[float, float]]:
        """Return the ranges to learn from."""
        axes = self.application.axes
        return {p: (axes[p].ends[0], top) for p in self.parameters}

    def test(self) -> dict[str, tuple[float, float]]:
        """Return the ranges to be judged in."""
        return dict.fromkeys(self.parameters, self.beyond)


def cases(known: Mapping[str, Application]) -> list[Case]:
    """Return the four cases of the paper: one size, all sizes, nodes, message size."""
    first = next(iter(known.values()))
    sizes = tuple(name for name, axis in first.axes.items() if axis.role == "input")
    largest = min(first.axes[name].high for name in sizes)
    half = largest // 2
    tops = tuple(float(half // part) for part in SIZES_BEYOND if half // part >= LEAST_TOP)
    found = [Case(first, sizes[:1], tops, (half, largest))]
    if len(sizes) > 1:
        found.append(Case(first, sizes, tops, (half, largest)))
    if "broadcast" in known:
        sent = known["broadcast"]
        most = sent.axes["nodes"].ends[1]
        nodes = tuple(most / part for part in NODES_BEYOND if most / part > 1)
        found.append(Case(sent, ("nodes",), nodes, (most, most)))
        end = sent.axes["size_bytes"].high
        octaves = tuple(float(end / 2**k) for k in range(7, 0, -2))
        found.append(Case(sent, ("size_bytes",), octaves, (end / 2, end)))
    return found


def make_beyond(work: Work) -> dict[str, Any]:
    """Make the files of all cases: to learn from, per largest value, and to be judged by."""
    found: dict[str, Any] = {}
    todo = [
        (case, top) for case in cases(applications(work)) for top in (*case.tops, None)
    ]  # fmt: skip
    for number, (case, top) in enumerate(todo):
        label = f"{case.name}-{'test' if top is None else f'{top:.0f}'}"
        work.progress(label, number / len(todo))
        made = work.kept(f"made-{label}", partial(_limited, work, case, top, label))
        about = found.setdefault(
            case.name,
            {"application": case.application.name, "parameters": case.parameters,
             "tops": case.tops, "beyond": case.beyond, "configurations": {}},
        )  # fmt: skip
        about["configurations"]["test" if top is None else f"{top:.0f}"] = made
    return found


def _limited(work: Work, case: Case, top: float | None, label: str) -> int:
    settings, path = work.settings, work.folder / f"{label}.csv"
    limits = case.test() if top is None else case.below(top)
    count = settings["below"] if top is not None else settings["below"] // 4
    seed = settings["seed"] + (1 if top is None else 2)
    if case.application.source == "measured here":
        return _measured(work, case.application, path, count, settings["seconds"] / 3, limits)
    drawn = case.application.draw(count, seed, limits)
    made = _simulated(work, case.application, drawn, label, None)
    return write_means(made, path, case.application.axes)
