"""Kernel models of a graph: their place and their names, and facts in their files beside durations.

Where models are missing, the errors name remedies. The facts are the energies of kernels, and the
kernels that hold Python's lock.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base import library as libraries
from tasksim.base.errors import InputError, option
from tasksim.models.rows import DURATION_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.engine.durations import AskedParameters
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.modelnames import ModelNames
    from tasksim.platform.description import Platform
    from tasksim.scenario.setup import Setup

__all__ = [
    "model_architectures", "models_path", "require_models", "with_energies", "with_lock_turns",
    "with_model_names",
]  # fmt: skip

MAX_REMEDIES = 2
"""Number of remedies of one kind in a message: StarPU's machines have LU in eight variants."""
MAX_NAMED_KERNELS = 12
"""Most kernels that a message names one by one: more do not fit a few lines."""
EXAMPLE_MACHINE = "mymachine"
"""Placeholder in examples for the name of the user's own machine."""


def with_model_names(graph: TaskGraph, names: ModelNames) -> TaskGraph:
    """Return *graph* with the names of its kernels' models replaced by *names*.

    Kernels that tasksim knows and the graph happens to lack (``tiles=1`` has no gemm) may be named.
    """
    from tasksim.kernels.dense import kernel_names
    from tasksim.models.modelnames import named

    own = dict(zip(graph.kernels, graph.model_names, strict=True))
    return replace(graph, model_names=named(names, own, known=kernel_names()))


def require_models(
    models: ModelLibrary,
    graph: TaskGraph,
    architectures: Sequence[str],
    *,
    completed: bool = True,
    further: bool = False,
) -> None:
    """Raise :exc:`InputError` for kernels without a model, with remedies.

    A remedy is other names of the models, or, if *completed*, durations (*further* ones, if some
    are given already). Kernels whose tasks have durations of their own need no model.
    """
    known = models.kernels()
    kernels = zip(graph.model_names, graph.parameter_names, strict=True)
    needed = [name for name, words in kernels if name in known or DURATION_PARAMETER not in words]
    try:
        models.require(needed, architectures)
    except InputError as error:
        flag = option("model_names")
        options = [f"{flag} '{text}'" for text in _other_names(graph, known)]
        if options:  # they say more than all names of the folder
            what, _, nearest = str(error).partition(" (known: ")[0].partition(", did you mean ")
            more = f" ({len(options)} in all)" if len(options) > MAX_REMEDIES else ""
            # Of several kernels without a model, the nearest name of the first one misleads.
            is_typo = bool(nearest) and what.startswith("no model of kernel '")
            hint = f", did you mean {nearest} Its" if is_typo else "; its"
            raise InputError(
                f"{what.partition(': expected')[0]}{hint} models have other names: give "
                f"{' or '.join(options[:MAX_REMEDIES])}{more}"
            ) from None
        named = zip(graph.kernels, graph.model_names, strict=True)
        missing = [kernel for kernel, name in named if name in needed and name not in known]
        if not (completed and missing):
            raise
        durations = _as_durations(missing) + (" as well" if further else "")
        measured = _calibration(graph, "platform")
        raise InputError(f"{error}; or give {durations}{measured}") from None


def models_path(scenario: Setup, platform: Platform, graph: TaskGraph | None = None) -> Path:
    """Return the path of a scenario's models: the named ones, or those of the platform.

    A native scenario uses those of this machine. Raises :exc:`InputError` if there are none, with
    remedies for *graph*, if it is known.
    """
    library = None if scenario.library is None else Path(scenario.library)
    if isinstance(scenario.models, str):
        return libraries.find("models", scenario.models, library=library)
    if platform.models is not None:
        return platform.models_folder(library)
    if scenario.clock == "simulated":
        whose = f"platform {platform.name} names none"
        if scenario.platform is None:
            whose = "identical workers have none"
        raise InputError(f"no kernel models: {whose}; {_instead(graph, platform, library)}")
    try:
        return libraries.find("models", platform.name, library=library)
    except InputError as error:
        raise InputError(
            f"scheduler {scenario.scheduler_label} needs kernel models, and this machine "
            f"({platform.name}) has none; give {option('models', 'DIR')}, or measure them: "
            "tasksim calibrate GRAPH"
        ) from error


def model_architectures(platform: Platform) -> tuple[str, ...]:
    """Return the architectures whose models the workers use."""
    used = [group.models for group in platform.classes]
    return tuple(dict.fromkeys(used))


def with_lock_turns(
    graph: TaskGraph, models: ModelLibrary, architectures: Sequence[str]
) -> TaskGraph:
    """Return *graph* with the tasks that hold Python's lock marked to run one at a time.

    The files of *models* say which kernels hold the lock, by measurement.
    """
    known = models.kernels()
    holders = {
        kernel
        for kernel, name in zip(graph.kernels, graph.model_names, strict=True)
        if name in known
        for found in [models.file(name).architectures]
        if any(found[a].holds_lock for a in architectures if a in found)
    }
    if not holders:
        return graph
    from tasksim.graph.commutation import taking_turns

    return taking_turns(graph, holders)


def with_energies(graph: TaskGraph, platform: Platform, models: ModelLibrary) -> Platform:
    """Return *platform* with the power of the kernels whose energy is in *models*.

    The power of a kernel on a worker is its idle power plus the joules of all tasks of the kernel
    divided by their seconds on that worker, both predicted by the models. That is exact if the
    tasks of a kernel are identical, or all run on one architecture. Power in the platform's file
    takes precedence over models.
    """
    assert platform.power is not None
    powers = dict(platform.power.architectures)
    for architecture, power in powers.items():
        known = dict(_watts(graph, platform, models, architecture))
        if known:
            kernels = {name: power.idle_w + watts for name, watts in known.items()}
            powers[architecture] = replace(power, kernels={**kernels, **power.kernels})
    if powers == platform.power.architectures:
        return platform
    return replace(platform, power=replace(platform.power, architectures=powers))


def _instead(graph: TaskGraph | None, platform: Platform, library: Path | None) -> str:
    """Return the remedies if neither the scenario nor its platform names models."""
    if graph is None:
        durations = option("durations", "KERNEL=SECONDS,...")
        return f"give {option('models', 'DIR')}, or {durations}"
    from tasksim.models.kinds.given import kernels_without_duration

    kernels = kernels_without_duration(graph)
    models = _as_models(graph, kernels, model_architectures(platform), library)
    from tasksim.formats.workflows.jobs import FLOP_PARAMETER

    speed = ""
    if len(graph) and FLOP_PARAMETER in graph.parameters_of(0):
        speed = (
            "; or, as its tasks are in flop, their speed: "
            "'tasksim import workflow FILE --flop-rate FLOP/S -o NEW.npz'"
        )
    return f"give {models}, or {_as_durations(kernels)}{_calibration(graph, 'models')}{speed}"


def _other_names(graph: TaskGraph, known: Sequence[str]) -> list[str]:
    """Return values of ``model_names`` that give each kernel of *graph* a model among *known*."""
    from tasksim.formats.starpu.examples import EXAMPLES
    from tasksim.models.modelnames import KERNEL_PLACEHOLDER, text_of

    if set(graph.model_names) <= set(known):
        return []
    first = graph.kernels[0]
    around = [name.partition(first) for name in known if first in name]
    # 'potrf' in place of 'potrf_float32' would be the model of another precision.
    longer = graph.model_names[0].startswith(f"{first}_")
    patterns = [
        f"{before}{KERNEL_PLACEHOLDER}{after}"
        for before, _, after in around
        if before or after or not longer
    ]
    complete = [
        text
        for text in patterns
        if {text.replace(KERNEL_PLACEHOLDER, kernel) for kernel in graph.kernels} <= set(known)
    ]
    fitting = [each for each in EXAMPLES if each.graph == graph.name]
    examples = [text_of(names) for each in fitting for names in each.model_names(known)]
    return list(dict.fromkeys([*complete, *examples]))


# Remedies at the end of messages, complete except for the seconds, which only users know


def _as_durations(kernels: Sequence[str]) -> str:
    """Return the option for durations of *kernels*, or of all at once if these are many.

    >>> _as_durations(["pack", "relax"])
    'durations=pack=SECONDS,relax=SECONDS'
    """
    if len(kernels) > MAX_NAMED_KERNELS:
        return option("durations", f"'{kernels[0]}=SECONDS,*=SECONDS'")
    return option("durations", ",".join(f"{kernel}=SECONDS" for kernel in kernels))


def _as_models(
    graph: TaskGraph, kernels: Sequence[str], architectures: Sequence[str], library: Path | None
) -> str:
    """Return the option for the first models, by name, that know all *kernels* of *graph*.

    Without such models, ``DIR`` takes the place of the name.
    """
    from tasksim.models.files.store import ModelLibrary

    of = dict(zip(graph.kernels, graph.model_names, strict=True))
    needed = [of[kernel] for kernel in kernels]
    for name, path in libraries.names("models", library=library).items():
        try:
            ModelLibrary(path).require(needed, architectures)
        except (InputError, OSError):
            continue
        return option("models", name)
    return option("models", "DIR")


def _calibration(graph: TaskGraph, then: str) -> str:
    """Return the command that measures the kernels of *graph*; empty if they do not execute.

    Parameters
    ----------
    graph : TaskGraph
    then : str
        The option that takes the result: ``platform`` or ``models``.
    """
    words = _as_words(graph)
    if words is None:
        return ""
    command = f"tasksim calibrate {words} --name {EXAMPLE_MACHINE}"
    return (
        f"; or measure them on this machine, '{command}', and give {option(then, EXAMPLE_MACHINE)}"
    )


def _as_words(graph: TaskGraph) -> str | None:
    """Return the generator of *graph* with its settings; None if there is none that executes."""
    import shlex

    from tasksim.graph.apps.registry import GENERATORS
    from tasksim.kernels.program import EXECUTORS

    if graph.name not in GENERATORS:
        return None
    generator = GENERATORS.find(graph.name)
    if generator.executor is None and graph.name not in EXECUTORS:
        return None
    defaults = {parameter.name: parameter.default for parameter in generator.parameters}
    given = dict(graph.arguments)
    if not set(given) <= set(defaults):  # a graph from a file that has a generator's name
        return None
    settings = [f"{key}={value}" for key, value in given.items() if defaults[key] != value]
    return shlex.join([graph.name, *settings])


# Energies of kernels


def _watts(
    graph: TaskGraph, platform: Platform, models: ModelLibrary, architecture: str
) -> Iterator[tuple[str, float]]:
    """Yield the kernels of *graph* with known energy, and their watts above idle."""
    from tasksim.engine.durations import AskedParameters

    groups = [group for group in platform.classes if group.architecture == architecture]
    labels = [group.models for group in groups for _ in group.workers]
    asked = AskedParameters(graph)
    for kernel, name in enumerate(graph.kernels):
        found = {label: _of_tasks(asked, kernel, models, label) for label in set(labels)}
        known = [pair for label in labels if (pair := found[label]) is not None]
        seconds = sum(seconds for _, seconds in known)
        if seconds > 0:
            yield name, sum(joules for joules, _ in known) / seconds


def _of_tasks(
    asked: AskedParameters, kernel: int, models: ModelLibrary, architecture: str
) -> tuple[float, float] | None:
    """Return joules and seconds of all tasks of *kernel*; None if their energy is unknown."""
    name = asked.graph.model_names[kernel]
    try:
        energy = models.energy(name, architecture)
    except InputError:  # that architecture cannot run the kernel
        return None
    if energy is None:
        return None
    return _total(asked, kernel, energy), _total(asked, kernel, models.model(name, architecture))


def _total(asked: AskedParameters, kernel: int, model: KernelModel) -> float:
    table, rows = asked.rows(kernel, model)
    return float(model.predict(table)[rows].sum())
