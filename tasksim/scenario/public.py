"""Public functions ``simulate``, ``execute``, ``bounds`` and ``durations``.

Each takes names or objects, as :class:`~tasksim.scenario.scenario.Scenario` does.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import flag, one_of
from tasksim.base.errors import InputError, short
from tasksim.engine.choice import ENGINES
from tasksim.platform.description import Platform
from tasksim.scenario.resolved import Resolver, resolve
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.setup import ENGINE_OPTIONS, NODE_FIELDS
from tasksim.scenario.solving import bound, execute_isolated, replay
from tasksim.scenario.solving import execute as run_natively

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.engine.choice import Engine
    from tasksim.engine.pricing import Noise
    from tasksim.kernels.program import Program
    from tasksim.native.runtimes import Runtime
    from tasksim.run.bounds import Bounds
    from tasksim.run.record import Run
    from tasksim.scenario.resolved import Resolved
    from tasksim.scenario.setup import AnyGraph, AnyModels, AnyPlatform, AnyScheduler

__all__ = ["bounds", "durations", "execute", "simulate"]


def simulate(
    graph: AnyGraph,
    platform: AnyPlatform | None = None,
    models: AnyModels | None = None,
    scheduler: AnyScheduler = "lws",
    *,
    seed: int = 0,
    noise: Noise = "none",
    check: bool = False,
    decisions: bool = False,
    simultaneous_pushes: str = "serial",
    engine: Engine = "auto",
    config: Mapping[str, Any] | None = None,
    **scenario: Any,
) -> Run:
    """Replay a task graph on a platform and return the run.

    Parameters
    ----------
    graph : str, Path or TaskGraph
        A generator with its settings (``"cholesky tiles=20"``), a file, or a graph.
    platform : str, Path, Platform or None, default None
        A name, a file, or a platform; *workers* may take its place.
    models : str, Path, mapping, models or None, default None
        Kernel models: a name, a folder or file, or loaded models; or seconds per kernel
        (``{"potrf": 1.0, "gemm": "6 ms"}``). None: those of the platform. The scheduler's
        estimates are their means.
    scheduler : str, Scheduler or class, default "lws"
        A name, with options if wanted (``"dmda:alpha=2"``); a scheduler, or its class.
    seed : int, default 0
        Seed of the scheduler's random choices and of the noise; the same seed gives the same run.
    noise : {"none", "model"}, default "none"
        Cost of a task: its model's mean, or a draw from its model's distribution.
    check : bool, default False
        Verify every invariant of the result.
    decisions : bool, default False
        Record the decisions of the scheduler in ``run.decisions``, on one node only.
    simultaneous_pushes : {"serial", "blind"}, default "serial"
        Whether a push sees earlier pushes of the same instant (serial), or, as in StarPU-SimGrid,
        schedulers that choose a worker at push do not see them (blind).
    engine : {"auto", "simpy", "compiled"}, default "auto"
        Engine of the replay: SimPy's, the compiled core, or (auto) the core if it is built and
        supports the scenario. The result is the same to the last bit. ``run.engine`` names the
        engine, and ``run.engine_why`` says why it was not the core, or that the core called a
        scheduler written in Python.
    config : mapping, optional
        Configuration to store in the run, in place of the scenario.
    **scenario
        Other parameters of :class:`tasksim.Scenario`: *settings*, *workers*, *durations*,
        *model_names*, *library*, *changes*; *network*, *nodes*, *grid*, *owner*.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If an argument is illegal, a kernel has no model, no worker can run a task, or the home of a
        datum is not a memory of the platform.
    SchedulerError
        If the scheduler drops or repeats a task, or gives a task to a worker that cannot run it.
    CheckFailed
        If *check* finds an invariant broken.

    Warns
    -----
    UserWarning
        If *noise* is "model", and models have no distribution.

    See Also
    --------
    execute : Run the graph for real.
    Scenario : The same question as an object, which can be varied and stored.

    Examples
    --------
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> simulate("cholesky tiles=2", workers=2, models=seconds).makespan_s
    8.0
    >>> simulate("cholesky tiles=2", workers=2, models=seconds, scheduler="prio").scheduler
    'prio'
    """
    _check_names(scenario, "simulate")
    one_of(simultaneous_pushes, ENGINE_OPTIONS["simultaneous_pushes"], "simultaneous_pushes")
    one_of(engine, ENGINES, "engine")
    flag(check, "check")
    flag(decisions, "decisions")
    asked = Scenario(
        graph=graph,
        platform=platform,
        models=models,
        scheduler=scheduler,
        seed=seed,
        noise=noise,
        **scenario,
    )
    if simultaneous_pushes != "serial":
        asked = asked.vary({"engine.simultaneous_pushes": simultaneous_pushes})
    resolved = resolve(asked)
    topics = "without_noise", "clocked", "numa", "overfull", "unused_durations"
    for lines in resolved.advice(*topics).values():
        for line in lines:
            warnings.warn(line, stacklevel=2)
    run = replay(resolved, check=check, engine=engine, decisions=decisions)
    return run if config is None else replace(run, config=dict(config))


def execute(
    graph: AnyGraph,
    platform: AnyPlatform | None = None,
    scheduler: AnyScheduler = "lws",
    *,
    models: AnyModels | None = None,
    program: Program | None = None,
    estimates: Sequence[Sequence[float]] | None = None,
    seed: int = 0,
    pin: bool = True,
    runtime: Runtime = "auto",
    check: bool = False,
    check_accesses: bool = False,
    isolate: bool = False,
    progress: CountProgress | None = None,
    config: Mapping[str, Any] | None = None,
    **scenario: Any,
) -> Run:
    """Run a task graph for real, one thread per worker, and return the run.

    Parameters
    ----------
    graph : str, Path or TaskGraph
        A graph whose kernels execute: a generator (cholesky, lu, qr, fmm, chain, fork-join,
        random-layered) or your own application, with its settings (``"cholesky tiles=20"``), a
        file, or a graph.
    platform : str, Path, Platform or None, default None
        A platform whose workers are all cores; each becomes a thread. None: this machine, with
        *workers* threads, by default one per usable core.
    scheduler : str, Scheduler or class, default "lws"
        The same schedulers as in a simulation.
    models : str, Path, mapping, models or None, default None
        Models for the estimates of schedulers that need them, as in :func:`simulate`. None: the
        models of the platform or of this machine.
    program : Program, optional
        The graph bound to its data, which are reset first. Default: bound here.
    estimates : sequence of sequences of float, optional
        Estimates in place of models: seconds, ``[class][task]``.
    seed : int, default 0
        Seed of random choices, and of the data.
    pin : bool, default True
        Pin each thread to a core, if there are enough cores and the system allows it.
    runtime : {"auto", "python", "compiled"}, default "auto"
        Code between two tasks: the compiled core, or Python, which takes ten times as long. Auto:
        the core if it is built.
    check : bool, default False
        Verify the run, and the residual of the computation.
    check_accesses : bool, default False
        Run tasks one at a time, and fail if a task writes data without declaring it.
    isolate : bool, default False
        Run in a child process, so that a kernel that crashes ends only this process; without
        *program*, *estimates* and *progress*.
    progress : callable, optional
        Called a few times per second with the number of finished tasks and of all tasks.
    config : mapping, optional
        Configuration to store in the run, in place of the scenario.
    **scenario
        Other parameters of :class:`tasksim.Scenario`: *settings*, *workers*, *durations*,
        *model_names*, *library*, *changes*.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If an argument is illegal, or a worker is a device, which can only be simulated.
    TaskFailed
        If a kernel fails; the message names the task and its kernel.
    SchedulerError
        If the scheduler breaks a rule.
    CheckFailed
        If *check* finds a wrong result.

    See Also
    --------
    simulate : Predict the run.

    Examples
    --------
    >>> run = execute("chain length=3 duration=0", workers=1)
    >>> run.kind, len(run)
    ('native', 3)
    """
    _check_names(scenario, "execute")
    for name, value in (("check", check), ("check_accesses", check_accesses), ("isolate", isolate)):
        flag(value, name)
    asked = Scenario(
        graph=graph,
        platform=platform,
        models=models,
        scheduler=scheduler,
        seed=seed,
        pin=pin,
        runtime=runtime,
        clock="native",
        **scenario,
    )
    resolved = Resolver().resolve(asked, estimated=estimates is None)
    if isolate:
        if any(given is not None for given in (program, estimates, progress)):
            raise InputError("isolate=True takes no program, no estimates and no progress")
        done = execute_isolated(resolved, check=check, check_accesses=check_accesses)
    else:
        if check_accesses:
            program = bound(resolved, program, check_accesses=True)
        done = run_natively(
            resolved, check=check, program=program, estimates=estimates, progress=progress
        )
    run = done.passed()
    return run if config is None else replace(run, config=dict(config))


def bounds(
    graph: AnyGraph,
    platform: AnyPlatform | ArrayLike | None = None,
    models: AnyModels | ArrayLike | None = None,
    **scenario: Any,
) -> Bounds:
    """Return lower bounds on the makespan of a graph on a platform.

    Parameters
    ----------
    graph : str, Path or TaskGraph
        As in :func:`simulate`.
    platform : str, Path, Platform, array_like or None, default None
        As in :func:`simulate`; or the seconds of each task on each class of workers, of shape
        (classes, tasks), infinite if the class cannot run the task.
    models : str, Path, mapping, models, array_like or None, default None
        As in :func:`simulate`; or, with such seconds, the number of workers of each class.
    **scenario
        Other parameters of :class:`tasksim.Scenario`: *settings*, *workers*, *durations*,
        *model_names*, *library*, *changes*.

    Returns
    -------
    Bounds
        The critical path and the area bound, in seconds.

    Raises
    ------
    InputError
        If an argument is illegal, or a task cannot run anywhere; the message names the task.

    See Also
    --------
    simulate : Predict a run, which has its bounds, too.

    Examples
    --------
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> bounds("cholesky tiles=3", workers=2, models=seconds)
    Bounds(critical_path_s=17.0, area_s=13.5)
    """
    from tasksim.run.bounds import Bounds
    from tasksim.run.bounds import bounds as of_durations

    if not (platform is None or isinstance(platform, str | Path | Platform)):
        made: Any = graph
        return of_durations(made, platform, models)  # type: ignore[arg-type]
    return Bounds(**_resolved(graph, platform, models, scenario, "bounds").bounds())


def durations(
    graph: AnyGraph,
    platform: AnyPlatform | None = None,
    models: AnyModels | None = None,
    rng: np.random.Generator | None = None,
    **scenario: Any,
) -> NDArray[np.float64]:
    """Return the duration of each task in each class of workers, in seconds.

    Parameters
    ----------
    graph : str, Path or TaskGraph
        As in :func:`simulate`.
    platform : str, Path, Platform or None, default None
        As in :func:`simulate`.
    models : str, Path, mapping, models or None, default None
        As in :func:`simulate`.
    rng : numpy.random.Generator, optional
        Draw each task's duration from its model's distribution; by default, its mean.
    **scenario
        Other parameters of :class:`tasksim.Scenario`: *settings*, *workers*, *durations*,
        *model_names*, *library*, *changes*.

    Returns
    -------
    ndarray, shape (classes, tasks)
        Infinite if a class has no model of the task's kernel, and so cannot run it.

    Raises
    ------
    InputError
        If an argument is illegal, or a kernel has no model for any architecture.

    See Also
    --------
    bounds : Lower bounds on the makespan with these durations.

    Examples
    --------
    >>> durations("chain length=2 duration=0.5", workers=1).tolist()
    [[0.5, 0.5]]
    """
    import numpy as np

    from tasksim.engine.durations import durations as settled

    if rng is not None and not isinstance(rng, np.random.Generator):
        raise InputError(f"rng: got {short(rng)}; legal: a numpy.random.Generator")
    found = _resolved(graph, platform, models, scenario, "durations")
    return settled(found.graph, found.platform, found.known_models(), rng)


SCENARIO_FIELDS = (
    "settings",
    "workers",
    "durations",
    "model_names",
    "library",
    "changes",
    *NODE_FIELDS,
)
"""Fields of a scenario that functions accept in addition to their named parameters."""


def _resolved(
    graph: Any, platform: Any, models: Any, scenario: Mapping[str, Any], function: str
) -> Resolved:
    _check_names(scenario, function)
    return resolve(Scenario(graph=graph, platform=platform, models=models, **scenario))


def _check_names(given: Iterable[str], function: str) -> None:
    """Raise :exc:`TypeError`, as Python does, for arguments that *function* does not have."""
    for name in given:
        if name not in SCENARIO_FIELDS:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
