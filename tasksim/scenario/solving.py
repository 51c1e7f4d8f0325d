"""Solution of a scenario, by simulation or by execution on this machine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import CheckFailed
from tasksim.base.registry import is_own
from tasksim.scenario.document import MADE, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.engine.choice import Engine
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program, Residual
    from tasksim.native.calm_moments import Calmness, Gate
    from tasksim.native.threads import Progress
    from tasksim.run.record import Run
    from tasksim.scenario.resolved import Resolved

__all__ = [
    "PATIENCE_S",
    "Checked",
    "bound",
    "bounds_of",
    "estimates_of",
    "execute",
    "execute_calmly",
    "execute_checked",
    "execute_isolated",
    "solve",
    "watched",
]

PATIENCE_S: Final = 60.0
"""Longest wait of a single run for a calm moment, in seconds: on shared machines most minutes have
one."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A native run, with the outcome of the checks of its result.

    Attributes
    ----------
    run : Run
    residual : Residual or None
        Of what was computed; None if there is nothing to check, or nobody asked.
    errors : mapping of str -> float
        Other errors of the result, by name.
    problem : CheckFailed or None
        What is wrong.
    """

    run: Run
    residual: Residual | None = None
    errors: Mapping[str, float] = field(default_factory=dict)
    problem: CheckFailed | None = None


def solve(
    resolved: Resolved,
    *,
    check: bool = False,
    progress: Progress | None = None,
    engine: Engine = "auto",
    digests: bool = True,
) -> Run:
    """Return the run of a scenario; :exc:`CheckFailed` if *check* finds anything wrong.

    *engine* replays it, if it is simulated: ``auto``, ``simpy`` or ``compiled``. Without *digests*
    its configuration lacks those of its files, for which all of them are read: only a run that is
    kept needs them.
    """
    if resolved.scenario.clock == "simulated":
        config = encode(resolved.scenario, resolved, digests=digests)
        run = resolved.simulation().run(check=check, engine=engine, config=config)
        return _with_graph(run, resolved)
    if not check:
        return execute(resolved, progress=progress)
    checked = execute_checked(resolved, progress=progress)
    if checked.problem is not None:
        raise checked.problem
    return checked.run


def execute(
    resolved: Resolved,
    *,
    program: Program | None = None,
    estimates: Sequence[Sequence[float]] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Return the native run of a scenario, with its lower bounds, and how long it would be alone.

    *program* is the graph bound to its data, made here by default; *estimates* what the scheduler
    believes, by default what the scenario's models say.
    """
    from tasksim.native.execute import execute as run_natively
    from tasksim.scenario.alone import replay_under, with_alone

    scenario = resolved.scenario
    scheduler = scenario.policy()
    replay = replay_under(scheduler)
    done = run_natively(
        resolved.graph,
        resolved.platform,
        scheduler,
        program=program,
        estimates=estimates_of(resolved) if estimates is None else estimates,
        seed=scenario.seed,
        pin=scenario.pin,
        runtime=scenario.runtime,
        progress=progress,
        config=encode(resolved.scenario, resolved),
    )
    run = replace(done, bounds=bounds_of(resolved.graph, done))
    return _with_graph(with_alone(run, resolved.graph, replay), resolved)


def execute_checked(
    resolved: Resolved,
    *,
    program: Program | None = None,
    estimates: Sequence[Sequence[float]] | None = None,
    progress: Progress | None = None,
) -> Checked:
    """Return the native run of a scenario, see :func:`execute`, and what checking it told."""
    if program is None:
        program = bound(resolved)
    done = execute(resolved, program=program, estimates=estimates, progress=progress)
    residual = program.check()
    # Some programs know more of their result than whether it is right.
    errors: Mapping[str, float] = getattr(program, "errors", dict)()
    return Checked(done, residual, errors, _problem(done, resolved.graph, residual))


def bound(resolved: Resolved, *, check_accesses: bool = False) -> Program:
    """Return the graph of a scenario bound to its data.

    With *check_accesses*, its tasks run one at a time, and fail if they write what they do not
    declare to write.
    """
    from tasksim.kernels.program import bind

    program = bind(resolved.graph, len(resolved.platform.workers), resolved.scenario.seed)
    return watched(program) if check_accesses else program


def watched(program: Program) -> Program:
    """Return *program* with its tasks one at a time, their accesses checked."""
    from tasksim.kernels.access_check import AccessCheckedProgram

    return AccessCheckedProgram(program)


def execute_isolated(
    resolved: Resolved, *, check: bool = True, check_accesses: bool = False
) -> Checked:
    """Return a native run that was made in a child process, which a kernel may bring down.

    Raises :exc:`TaskFailed`, with the tasks under way, if one does.
    """
    from tasksim.native.isolation import BoardedProgram, isolated, new_board

    board = new_board(len(resolved.platform.workers))

    def run() -> Checked:
        program = BoardedProgram(bound(resolved, check_accesses=check_accesses), board)
        if check:
            return execute_checked(resolved, program=program)
        return Checked(execute(resolved, program=program))

    return isolated(run, resolved.graph, resolved.platform, board)


def execute_calmly(
    resolved: Resolved,
    *,
    check: bool = True,
    patience_s: float = PATIENCE_S,
    progress: Progress | None = None,
) -> tuple[Checked, Calmness]:
    """Return a native run from which others took hardly anything, and whether there was one.

    It is run again until there is, or *patience_s* is over; then the calmest run counts, and the
    calmness says what others took from it.
    """
    from tasksim.native.calm_moments import gate_of, measure_calmly
    from tasksim.run.disturbance import others_share

    program, workers = bound(resolved), len(resolved.platform.workers)

    def run() -> Checked:
        if check:
            return execute_checked(resolved, program=program, progress=progress)
        return Checked(execute(resolved, program=program, progress=progress))

    gate: Gate[Checked] = gate_of(lambda checked: others_share(checked.run), workers)
    done = measure_calmly([run], gate, repetitions=1, patience_s=patience_s)
    return done.values[0][0], done.calm


def _with_graph(run: Run, resolved: Resolved) -> Run:
    """Return *run*, with its graph where its configuration cannot name it, or only with code.

    Of an application of one's own, the graph is kept: nothing is imported to read the run.
    """
    kept = MADE in run.config["graph"] or is_own(resolved.graph.name)
    return replace(run, graph=resolved.graph) if kept else run


def estimates_of(resolved: Resolved) -> Any:
    """Return what the scheduler believes, None if it does not ask."""
    if resolved.models is None:
        return None
    from tasksim.engine.durations import durations

    return durations(resolved.graph, resolved.platform, resolved.models).tolist()


def bounds_of(graph: TaskGraph, run: Run) -> dict[str, float]:
    """Return the lower bounds for the durations that the tasks had."""
    from tasksim.run.bounds import bounds

    return bounds(graph, run.tasks.duration_s[None, :], [len(run.workers)]).to_json()


def _problem(run: Run, graph: TaskGraph, residual: Residual | None) -> CheckFailed | None:
    from tasksim.run.runchecks import check_run

    try:
        check_run(run, graph)
    except CheckFailed as error:
        return error
    if residual is None or residual.ok:
        return None
    return CheckFailed(
        f"{graph.name}: {residual.what} is {residual.value:.3g}, more than {residual.tolerance:.3g}"
    )
