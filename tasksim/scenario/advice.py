"""Advice on the models of a scenario, about unknown kernels, extrapolation and noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError, option, unknown
from tasksim.models.fitted import bounding_parameters, row_text, unlike_fixed
from tasksim.models.rows import distinct_rows
from tasksim.scenario.kernel_models import model_architectures

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.durations import AskedParameters, Models
    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.network.cluster import Cluster
    from tasksim.platform.description import Platform
    from tasksim.run.measured import MeasuredDurations
    from tasksim.scenario.setup import Setup

__all__ = [
    "beyond_contention",
    "bound_by_durations",
    "disturbed",
    "extrapolated",
    "overfull_nodes",
    "refuse_misspelt_synchronous",
    "taken_for_computing",
    "unused_durations",
    "warnings_of",
    "without_models",
    "without_noise",
    "without_remote_cost",
]

# Similarity (difflib's ratio) above which a name counts as misspelt: two letters of a short name
# swapped, "potfr", or one left out. The kernels "getrf" and "potrf" have a similarity of 0.6.
MIN_NAME_SIMILARITY = 0.8


def warnings_of(
    topics: Sequence[str],
    graph: TaskGraph,
    platform: Platform,
    models: Any,
    given: Collection[str],
    cluster: Cluster | None,
    scenario: Setup,
) -> dict[str, list[str]]:
    """Return the warnings of a simulation by topic.

    :meth:`tasksim.scenario.resolved.Resolved.advice` explains the topics. *given* has the kernels
    with given durations; *models* may be None if no topic is about them.
    """
    used = model_architectures(platform)
    nodes = [platform] if cluster is None else cluster.nodes
    grid, owner = scenario.node_grid, scenario.owner
    about: dict[str, Callable[[], list[str]]] = {
        "without_models": lambda: [
            *without_models(graph, models, used),
            *bound_by_durations(graph, given, models, used),
        ],
        "extrapolated": lambda: extrapolated(graph, models, used),
        "beyond_contention": lambda: beyond_contention(graph, platform, models),
        "without_noise": lambda: without_noise(graph, models, used),
        "clocked": lambda: taken_for_computing(graph, models, platform),
        "numa": lambda: without_remote_cost(graph, platform, models, cluster),
        "overfull": lambda: overfull_nodes(graph, nodes, grid, owner),
        "unused_durations": lambda: unused_durations(graph, used),
        "disturbed": lambda: disturbed(models),
    }
    return {topic: about[topic]() for topic in topics}


def refuse_misspelt_synchronous(
    graph: TaskGraph, platform: Platform, library: ModelLibrary | None
) -> None:
    """Raise :exc:`InputError` if ``synchronous:`` misspells the name of a kernel of *graph*.

    Other names are allowed: they are kernels of other graphs on the same platform.
    """
    from difflib import get_close_matches

    for architecture, device in platform.devices.items():
        kernels = [name for name in graph.model_names if name not in device.synchronous]
        for name in device.synchronous:
            near = get_close_matches(name, kernels, n=1, cutoff=MIN_NAME_SIMILARITY)
            if name in graph.model_names or not near:
                continue
            if library is None or name not in library.kernels():
                where = f"platform {platform.name}: arch.{architecture}.synchronous"
                raise unknown("kernel", name, graph.model_names, where)


def extrapolated(graph: TaskGraph, models: Models, architectures: Sequence[str]) -> list[str]:
    """Return a line per kernel whose models have to extrapolate, with the architectures.

    Architectures with the same text share a line, so that eight identical GPUs do not get eight
    lines.
    """
    from tasksim.engine.durations import AskedParameters

    asked = AskedParameters(graph)
    lines = []
    for kernel, name in enumerate(graph.model_names):
        where: dict[str, list[str]] = {}
        for architecture in architectures:
            what = _beyond(asked, kernel, name, models, architecture)
            if what:
                where.setdefault(what, []).append(architecture)
        lines += [f"{name} on {', '.join(of)}: {what}" for what, of in where.items()]
    return lines


def beyond_contention(graph: TaskGraph, platform: Platform, models: Models) -> list[str]:
    """Return lines about contention that was measured for fewer workers or other sizes."""
    from tasksim.engine.durations import AskedParameters, contention_of
    from tasksim.engine.slowing import slowing_of

    slowing = slowing_of(graph, platform, models)
    if slowing is None:
        return []
    beside = 1 + min(len(factors) for row in slowing.kinds.beside for factors in row)
    lines: dict[str, list[str]] = {}
    for domain in platform.memory_domains:
        workers, cores = len(domain.workers), len(domain.bandwidths_bytes_per_s)
        if workers > beside and workers > 1:
            known = f"bandwidth of up to {cores} cores" if cores else "no bandwidth is given"
            measured = f"up to {beside} cores" if beside > 1 else "none"
            what = f"contention of kernels was measured on {measured}, {known}"
            lines.setdefault(f"{workers} workers share memory; {what}", []).append(domain.name)
    said = [f"contention in {', '.join(of)}: a guess: {what}" for what, of in lines.items()]
    asked = AskedParameters(graph)
    names = []  # of kernels whose contention was measured for other sizes only
    architectures = model_architectures(platform)
    for kernel, name in enumerate(graph.model_names):
        beyond = [at for at in architectures if _beyond(asked, kernel, name, models, at)]
        if any(contention_of(models, name, at) for at in beyond):
            names.append(name)
    if names:
        what = "measured for other sizes, with the same demand on the memory per second assumed"
        said.append(f"contention of {', '.join(names)}: a guess: {what}")
    return said


def disturbed(durations: MeasuredDurations) -> list[str]:
    """Return a line if other programs had the cores for much of the measured *durations*."""
    from tasksim.run.others import MIN_SAID_SHARE

    if durations.others_share < MIN_SAID_SHARE:
        return []
    return [
        f"others had the cores for {100 * durations.others_share:.0f} % of the recorded tasks' "
        f"time, which their durations contain; {option('durations', 'alone')} leaves it out"
    ]


def overfull_nodes(
    graph: TaskGraph, nodes: Sequence[Platform], grid: NodeGrid | None, owner: str
) -> list[str]:
    """Return a line per memory of a node that is too small for the data at home in it."""
    from tasksim.engine import room

    if len(nodes) == 1:
        return room.overfull(graph, nodes)
    if not any(room.overfull(graph, [node]) for node in nodes):
        return []
    from tasksim.graph.distribution.owners import grid_or_square, placement_of

    placed = placement_of(graph, grid_or_square(grid, len(nodes)), owner)
    return room.overfull(graph, nodes, placed.owners)


def without_models(graph: TaskGraph, models: Models, architectures: Sequence[str]) -> list[str]:
    """Return a line with the architectures without a model of any kernel of *graph*, if any.

    Kernels without any model, whose tasks have durations of their own, run everywhere.
    """
    idle = [at for at in architectures if not _any_model(graph.model_names, models, at)]
    if len(idle) in (0, len(architectures)):
        return []
    free = [
        kernel
        for kernel, name in zip(graph.kernels, graph.model_names, strict=True)
        if not any(_any_model([name], models, at) for at in architectures)
    ]
    but = f" but {', '.join(free)}" if free else ""
    where = ", ".join(idle)
    return [f"no kernel of {graph.name} has a model on {where}: workers there stay idle{but}"]


def bound_by_durations(
    graph: TaskGraph, given: Collection[str], models: Models, architectures: Sequence[str]
) -> list[str]:
    """Return a line per set of architectures that durations of the *given* kernels leave out."""
    left_out: dict[tuple[str, ...], list[str]] = {}
    for kernel, name in zip(graph.kernels, graph.model_names, strict=True):
        if kernel in given:
            never = tuple(at for at in architectures if not _any_model([name], models, at))
            left_out.setdefault(never, []).append(kernel)
    return [
        f"{option('durations')} replaces the models of {', '.join(kernels)} everywhere: they never "
        f"run on {', '.join(never)}, unless it has {never[0]}:{kernels[0]}=SECONDS, too"
        for never, kernels in left_out.items()
        if never
    ]


def unused_durations(graph: TaskGraph, architectures: Sequence[str]) -> list[str]:
    """Return a line with the architectures that have durations in the graph, but no worker."""
    from tasksim.models.rows import DURATION_PARAMETER

    names = dict.fromkeys(name for names in graph.parameter_names for name in names)
    given = [name[:-2] for name in names if name.endswith("_s") and name != DURATION_PARAMETER]
    absent = [name for name in given if name not in architectures]
    if not absent:
        return []
    return [
        f"durations of {graph.name} on {', '.join(absent)} are not used: the platform has "
        f"{', '.join(architectures)}"
    ]


def without_noise(graph: TaskGraph, models: Models, architectures: Sequence[str]) -> list[str]:
    """Return a line with the kernels whose models have no distribution, and so no noise, if any."""
    from tasksim.engine.durations import AskedParameters

    asked = AskedParameters(graph)

    def draws(kernel: int, model: Any) -> bool:
        if model is None:
            return False
        table, _ = asked.rows(kernel, model)
        return bool(np.any(model.sample(table, np.random.default_rng(0)) != model.predict(table)))

    exact = [
        name
        for kernel, name in enumerate(graph.model_names)
        if len(asked.tasks(kernel))
        and not any(draws(kernel, _model(models, name, where)) for where in architectures)
    ]
    if not exact:
        return []
    whose = "no kernel" if len(exact) == len(graph.model_names) else f"not {', '.join(exact)}"
    return [
        f"noise: {whose} of {graph.name} has a model with a distribution: every draw is its mean"
        + (", and every seed gives the same durations" if whose == "no kernel" else "")
    ]


def taken_for_computing(graph: TaskGraph, models: Models, platform: Platform) -> list[str]:
    """Return a line per architecture at another clock, with the kernels of unknown memory share."""
    from tasksim.engine.durations import AskedParameters, contention_of
    from tasksim.models.contention import compute_share

    asked, lines = AskedParameters(graph), []
    clocked = {
        group.models: group.architecture
        for group in platform.classes
        if platform.slower(group.architecture) != 1.0
    }
    for measured, architecture in clocked.items():
        names = []
        for kernel, name in enumerate(graph.model_names):
            model = _model(models, name, measured)
            if model is None:
                continue
            table, _ = asked.rows(kernel, model)
            if compute_share(model, table, contention_of(models, name, measured)) is None:
                names.append(name)
        if names:
            lines.append(
                f"{architecture} at another frequency than its models: all time of "
                f"{', '.join(names)} counts as computing, none as memory"
            )
    return lines


def without_remote_cost(
    graph: TaskGraph, platform: Platform, models: Models, cluster: Cluster | None
) -> list[str]:
    """Return lines about described remote accesses that cost nothing in this simulation."""
    if cluster is not None and cluster.shared_cores is not None:
        return ["numa: not simulated where nodes share cores"]
    if len(platform.memory_domains) < 2:
        return []
    from tasksim.engine.slowing import slowing_of

    slowing = slowing_of(graph, platform, models)
    used = np.unique(graph.kernel).tolist()
    names = [graph.model_names[kernel] for kernel in used]
    if slowing is not None:
        share = np.array(slowing.kinds.share)[slowing.kinds.of_tasks]
        names = [graph.model_names[kernel] for kernel in used if not share[:, kernel].any()]
    if not names:
        return []
    what = "no memory share is known, so remote accesses cost them nothing (numa.kernels)"
    return [f"numa: of {', '.join(names)} {what}"]


def _model(models: Models, name: str, architecture: str) -> Any:
    """Return the model of a kernel, None if the architecture cannot run it."""
    try:
        return models.model(name, architecture)
    except InputError:
        return None


def _any_model(names: Iterable[str], models: Models, architecture: str) -> bool:
    return any(_model(models, name, architecture) is not None for name in names)


def _beyond(
    asked: AskedParameters, kernel: int, name: str, models: Models, architecture: str
) -> str:
    """Return the parameter values outside the measured domain as text; empty if there are none."""
    model = _model(models, name, architecture)
    if model is None:
        return ""
    rows, _ = distinct_rows(asked.rows(kernel, model)[0])
    outside = rows[~model.inside(rows)]
    named = asked.graph.categories.get(asked.graph.kernels[kernel], {})
    unlike = unlike_fixed(model, *asked.parameters(kernel), named) if model.fixed_ else {}
    found = [_unlike(model, name, values, named) for name, values in unlike.items()]
    if len(outside):
        of = f" in {len(outside)} of {len(rows)} configurations" if len(rows) > 1 else ""
        found.append(f"{_outside(model, outside)}{of}")
    return f"extrapolated to {', '.join(found)}" if found else ""


def _unlike(
    model: KernelModel,
    name: str,
    values: NDArray[np.float64],
    categories: Mapping[str, tuple[str, ...]],
) -> str:
    """Return a text for *values* of a parameter that was measured at a single value."""
    known, only = model.categories_.get(name), model.fixed_[name]
    measured = f"{only:.15g}" if known is None else known[int(only)]
    if name in categories:
        asked = ", ".join(categories[name][int(code)] for code in np.unique(values))
    else:
        asked = _span(values.min(), values.max())
    return f"{name} {asked} (measured {measured} only)"


def _outside(model: KernelModel, outside: NDArray[np.float64]) -> str:
    """Return a text of the values beyond the measured range of each parameter, with that range."""
    found = []
    for name, (low, high) in model.domain_.items():
        values = outside[:, model.names_.index(name)]
        beyond = values[(values < low) | (values > high)]
        if name in bounding_parameters(model) and len(beyond):
            measured = _span(low, high) + ("" if low < high else " only")
            found.append(f"{name} {_span(beyond.min(), beyond.max())} (measured {measured})")
    # Kinds that know only single configurations have gaps within the range of each parameter.
    return ", ".join(found) or f"{row_text(model, outside[0])}, not measured"


def _span(low: float, high: float) -> str:
    """Return a range of values, or the only one."""
    return f"{low:.15g}" if low == high else f"{low:.15g} to {high:.15g}"
