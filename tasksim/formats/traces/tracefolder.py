"""Folders of imported traces, with the run, its graph, its platform and its kernel models."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.documents.sections import NAME_PATTERN
from tasksim.base.errors import InputError, TasksimError
from tasksim.base.files import new_folder
from tasksim.base.units import exact_quantity
from tasksim.formats.traces.recutils import FOOTPRINT_PARAMETER, ITERATION_PARAMETER
from tasksim.run.account import runtime_costs
from tasksim.run.foldernames import PLATFORM_FILE, refuse_run_folder
from tasksim.run.runfolder import fill

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples
    from tasksim.run.record import Run, WorkerInfo

__all__ = ["MODELS_FOLDER", "save_trace"]

MODELS_FOLDER = "models"
"""Folder of the kernel models, in the folder of the run."""
ASSUMED_BANDWIDTH: Final = "1 TB/s"
"""Bandwidth between nodes of a trace that times no message: StarPU before 1.4 writes none. It is so
large that messages are practically free, as nothing is known of them."""


def save_trace(
    trace: RecordedTrace, folder: Path, *, models: bool = False, force: bool = False
) -> list[str]:
    """Write an imported trace to a run folder, all or nothing; return notes.

    Parameters
    ----------
    trace : RecordedTrace
        The run, with its graph.
    folder : Path
        It gets the run, and ``platform.yaml`` if the workers' names fit a platform file.
    models : bool, default False
        Whether to write models of the run's own durations, too: histories by configuration, and
        linear models if parameters have sizes.
    force : bool, default False
        Whether to replace an existing run.

    Raises
    ------
    InputError
        If *folder* exists without *force*, or is not a run folder.
    """
    from tasksim.platform.load import dump

    refuse_run_folder(folder, force=force)
    run = trace.run
    notes: list[str] = []
    described = _described(run, folder.resolve().name, models=models)
    with new_folder(folder, force=force) as temporary:
        if models:
            notes += _save_models(run, temporary / MODELS_FOLDER)
        fill(run, temporary)
        if described is not None:
            comment = f"The platform of {run.graph_name}, as far as its trace knows it."
            dump(described, temporary / PLATFORM_FILE, comment=comment)
    if described is None:
        notes.append(
            "no platform file: the workers' names do not fit one, or the copies do not show the"
            " links between memories; workers are taken from the run"
        )
    elif "nodes" in described and not run.memories:
        notes.append(
            f"no message between nodes was timed: their links have {ASSUMED_BANDWIDTH}, as if"
            " messages were free"
        )
    return notes


def _described(run: Run, name: str, *, models: bool) -> dict[str, Any] | None:
    """Return the platform of *run* as a file; None if a file cannot describe it."""
    nodes = _by_node(run)
    workers = None if nodes is None else _workers(run, nodes)
    if workers is None or not _fit(workers):
        workers = _by_architecture(run)
    links = _links(run)
    if workers is None or links is None:
        return None
    kinds = dict.fromkeys(section["arch"] for section in workers.values())
    described: dict[str, Any] = {"name": name, "arch": {kind: {} for kind in kinds}}
    if nodes is not None and len(nodes) > 1:
        described["nodes"] = len(nodes)
        links = links or {
            f"node{one}-node{other}": {
                "bandwidth": ASSUMED_BANDWIDTH, "between": [f"node{one}/ram", f"node{other}/ram"]
            }
            for one, other in combinations(range(len(nodes)), 2)
        }  # fmt: skip
    elif run.memories:
        described["memories"] = {memory.name: {} for memory in run.memories}
    described["workers"] = workers
    if links:
        described["links"] = links
    if models:
        described["models"] = MODELS_FOLDER
    if run.graph is not None:
        costs = runtime_costs(run, run.graph)
        seconds = {
            "submission": costs.submission_s, "task": costs.task_s, "wakeup": costs.wakeup_s
        }  # fmt: skip
        described["overheads"] = {k: exact_quantity(s, "time") for k, s in seconds.items() if s}
    return described


Groups = dict[str, dict[int, "WorkerInfo"]]
"""Workers of a node, by the prefix of their names and the number after it."""


def _by_node(run: Run) -> list[Groups] | None:
    """Return the workers of each node; None if their names do not fit a platform file.

    Nodes of a platform are alike, with one memory each.
    """
    found: list[Groups] = []
    for worker in run.workers:
        prefix, slash, own = worker.name.rpartition("/")
        group = own.rstrip("0123456789")
        digits = own.removeprefix(group)
        group = group.removesuffix("-")
        if not (group and digits) or prefix != (f"node{worker.node}" if slash else ""):
            return None
        while len(found) <= worker.node:
            found.append({})
        found[worker.node].setdefault(group, {})[int(digits)] = worker
    several = len(found) > 1
    like = [{group: (*some,) for group, some in node.items()} for node in found]
    if several and (any(one != like[0] for one in like) or 1 < len(run.memories) != len(found)):
        return None
    return found if several == ("/" in run.workers[0].name) else None


def _workers(run: Run, nodes: list[Groups]) -> dict[str, Any] | None:
    """Return the groups of workers of a node for a file; None if it cannot describe them."""
    workers: dict[str, Any] = {}
    for group, members in nodes[0].items():
        some = list(members.values())
        section: dict[str, Any] = {"count": max(members) + 1, "arch": some[0].architecture}
        if run.memories and len(nodes) == 1:
            if len(some) != section["count"]:
                return None
            section["memory"] = [run.memories[worker.memory].name for worker in some]
        workers[group] = section
    return workers


def _by_architecture(run: Run) -> dict[str, Any] | None:
    """Return a group of workers for each architecture; None if a file cannot describe them.

    Workers whose names do not fit a file are alike if they share one memory.
    """
    if run.memories or any(worker.node for worker in run.workers):
        return None
    count = Counter(worker.architecture for worker in run.workers)
    workers = {kind: {"count": number, "arch": kind} for kind, number in count.items()}
    return workers if _fit(workers) else None


def _fit(workers: dict[str, Any]) -> bool:
    """Return whether the names of groups and architectures are legal in a platform file."""
    names = {*workers, *(section["arch"] for section in workers.values())}
    return all(re.fullmatch(NAME_PATTERN, each) for each in names)


def _links(run: Run) -> dict[str, Any] | None:
    """Return the links of the copies of *run*, with their median speeds."""
    if not run.memories:
        return {}
    copies = run.transfers
    if copies is None:
        return None
    found: dict[str, Any] = {}
    low, high = np.minimum(copies.source, copies.target), np.maximum(copies.source, copies.target)
    took = copies.end_s - copies.start_s
    timed = (took > 0) & (copies.size_bytes > 0)
    network = run.memories[-1].node > 0
    for one in range(len(run.memories)):
        for other in range(one + 1, len(run.memories)):
            these = (low == one) & (high == other) & timed
            if network and not these.any():
                these = timed  # a network is the same between all nodes
            if not these.any():
                if one == 0:
                    return None
                continue
            rate = float(np.median(copies.size_bytes[these] / took[these]))
            names = [run.memories[one].name, run.memories[other].name]
            found["-".join(names).replace("/", "-")] = {
                "bandwidth": exact_quantity(rate, "bandwidth"), "between": names
            }  # fmt: skip
    return found


def _save_models(run: Run, folder: Path) -> list[str]:
    """Write a model per kernel and architecture; return notes on failed fits."""
    from datetime import UTC, datetime

    from tasksim.models.files.coefficients import Entry, Machine, Measured
    from tasksim.models.files.store import save_kernel

    folder.mkdir()
    notes = []
    when = datetime.now(UTC).date().isoformat()
    for kernel, samples in _samples(run).items():
        entries, names = {}, None
        for architecture, some in samples.items():
            try:
                model = _fitted(some)
            except TasksimError as error:
                notes.append(f"no model of {kernel} on {architecture}: {error}")
                continue
            names = names or model.names_
            if model.names_ == names:
                entries[architecture] = Entry(model, Measured(when, f"trace {run.graph_name}"))
            else:
                notes.append(
                    f"no model of {kernel} on {architecture}: its parameters differ from those"
                    " elsewhere"
                )
        if entries:
            try:
                save_kernel(folder, kernel, entries, machine=Machine(run.platform))
            except InputError as error:  # names of other tools need not fit those of files
                notes.append(f"no model of a kernel: {error}")
    return notes


def _samples(run: Run) -> dict[str, dict[str, Samples]]:
    """Return the durations of the tasks with their parameters, by kernel and architecture."""
    from tasksim.models.samples import Samples

    graph = run.graph
    assert graph is not None  # an imported run has a graph
    found: dict[str, dict[str, Samples]] = {}
    architecture = np.array([worker.architecture for worker in run.workers])[run.tasks.worker]
    for number, kernel in enumerate(graph.kernels):
        for name in dict.fromkeys(architecture.tolist()):
            rows = np.flatnonzero((run.tasks.kernel == number) & (architecture == name))
            if len(rows):
                tasks = run.tasks.task[rows]
                table = graph.parameters[number][graph.row[tasks]]
                some = Samples(
                    graph.parameter_names[number], table, run.tasks.duration_s[rows],
                    categories=graph.categories.get(kernel, {}),
                )  # fmt: skip
                found.setdefault(kernel, {})[name] = some.without([ITERATION_PARAMETER])
    return found


def _fitted(samples: Samples) -> KernelModel:
    """Return a history of few configurations, or else a model linear in the flop."""
    from tasksim.models.kinds.history import HistoryModel
    from tasksim.models.kinds.linear import LinearModel

    rows, _ = samples.configurations()
    linear = [name for name in samples.names if name != FOOTPRINT_PARAMETER]
    if linear and FOOTPRINT_PARAMETER not in samples.names and 2 * len(rows) > len(samples):
        return LinearModel(" + ".join(linear)).fit(samples)
    return HistoryModel().fit(samples)
