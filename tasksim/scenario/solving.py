"""Solution of a scenario, by simulation or by execution on this machine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import CheckFailed
from tasksim.base.log import Log
from tasksim.base.registry import is_own
from tasksim.scenario.document import OBJECT_KEY, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.progress import CountProgress
    from tasksim.engine.choice import Engine
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program, Residual
    from tasksim.native.calm_moments import Calmness, Gate
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
    "execute_isolated",
    "problem_of",
    "replay",
    "solve",
]

_log = Log("scenario")

PATIENCE_S: Final = 60.0
"""Longest wait of a single run for a calm moment, in seconds: on shared machines most minutes have
one."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A native run, with the outcome of the checks of its result, if there were any.

    Attributes
    ----------
    run : Run
    residual : Residual or None
        Residual of the computation; None if there is nothing to check, or no check.
    errors : mapping of str -> float
        Other errors of the result, by name.
    problem : CheckFailed or None
        Error for a failed check.
    """

    run: Run
    residual: Residual | None = None
    errors: Mapping[str, float] = field(default_factory=dict)
    problem: CheckFailed | None = None

    def passed(self) -> Run:
        """Return the run; raise its :attr:`problem` if a check failed."""
        if self.problem is not None:
            raise self.problem
        return self.run


def solve(
    resolved: Resolved,
    *,
    check: bool = False,
    progress: CountProgress | None = None,
    engine: Engine = "auto",
    digests: bool = True,
) -> Run:
    """Return the run of a scenario; raise :exc:`CheckFailed` if *check* finds a wrong result.

    *engine* and *digests* are for a simulated run, as in :func:`replay`.
    """
    if resolved.scenario.clock == "simulated":
        return replay(resolved, check=check, engine=engine, digests=digests, progress=progress)
    return execute(resolved, check=check, progress=progress).passed()


def replay(
    resolved: Resolved,
    *,
    check: bool = False,
    engine: Engine = "auto",
    digests: bool = True,
    decisions: bool = False,
    progress: CountProgress | None = None,
) -> Run:
    """Simulate a scenario; raise :exc:`CheckFailed` if *check* finds a wrong result.

    *engine* is ``auto``, ``simpy`` or ``compiled``. *digests* adds those of the files to the
    configuration; that reads all files, and only a run that is written needs it. *decisions*
    records those of the scheduler. *progress* is called from time to time with the number of
    finished tasks and of all tasks.
    """
    config = encode(resolved.scenario, resolved, digests=digests)
    run = resolved.simulation().run(
        check=check, engine=engine, config=config, decisions=decisions, progress=progress
    )
    why = f" ({run.engine_why})" if run.engine_why else ""
    _log.info("%s: %d tasks simulated by engine %s%s in %.3f s, makespan %.9g s", run.graph_label,
              len(run), run.engine, why, run.wall_s, run.makespan_s)  # fmt: skip
    return _with_graph(run, resolved)


def execute(
    resolved: Resolved,
    *,
    check: bool = False,
    program: Program | None = None,
    estimates: Sequence[Sequence[float]] | None = None,
    progress: CountProgress | None = None,
) -> Checked:
    """Execute a scenario; return the run with its lower bounds and its makespan alone.

    *check* verifies the run and the result of the computation. *program* is the graph bound to its
    data, by default bound here; *estimates* are those of the scheduler, by default predictions of
    the scenario's models.
    """
    from tasksim.native.execute import execute as run_natively
    from tasksim.scenario.alone import replay_under, with_alone

    scenario = resolved.scenario
    scheduler = scenario.policy()
    replay = replay_under(scheduler)
    if check and program is None:
        program = bound(resolved)
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
    _log.info("%s: %d tasks executed on %d workers, makespan %.9g s",
              scenario.label, len(done), len(done.workers), done.makespan_s)  # fmt: skip
    run = replace(done, bounds=bounds_of(resolved.graph, done))
    run = _with_graph(with_alone(run, resolved.graph, replay), resolved)
    if not check or program is None:
        return Checked(run)
    residual = program.check()
    # Some programs have further errors beside the residual.
    errors: Mapping[str, float] = getattr(program, "errors", dict)()
    return Checked(run, residual, errors, problem_of(run, resolved.graph, residual))


def bound(
    resolved: Resolved, program: Program | None = None, *, check_accesses: bool = False
) -> Program:
    """Return the graph of a scenario bound to its data, perhaps already, as *program*.

    With *check_accesses*, its tasks run one at a time, and fail if they write data without
    declaring it.
    """
    if program is None:
        from tasksim.kernels.program import bind

        program = bind(resolved.graph, len(resolved.platform.workers), resolved.scenario.seed)
    if not check_accesses:
        return program
    from tasksim.kernels.access_check import AccessCheckedProgram

    return AccessCheckedProgram(program)


def execute_isolated(
    resolved: Resolved, *, check: bool = True, check_accesses: bool = False
) -> Checked:
    """Execute a scenario in a child process, so that a kernel that crashes ends only the child.

    Raises :exc:`TaskFailed`, with the running tasks, if a kernel crashes.
    """
    from tasksim.native.isolation import BoardedProgram, isolated, new_board

    board = new_board(len(resolved.platform.workers))

    def run() -> Checked:
        program = BoardedProgram(bound(resolved, check_accesses=check_accesses), board)
        return execute(resolved, check=check, program=program)

    return isolated(run, resolved.graph, resolved.platform, board)


def execute_calmly(
    resolved: Resolved,
    *,
    check: bool = True,
    patience_s: float = PATIENCE_S,
    progress: CountProgress | None = None,
) -> tuple[Checked, Calmness]:
    """Execute a scenario until a run is calm: other programs took hardly any time from it.

    After *patience_s*, the calmest run counts. The returned calmness says how calm it was.
    """
    from tasksim.native.calm_moments import gate_of, measure_calmly
    from tasksim.run.disturbance import worst_share

    run = partial(execute, resolved, check=check, program=bound(resolved), progress=progress)
    workers = len(resolved.platform.workers)
    gate: Gate[Checked] = gate_of(lambda checked: worst_share(checked.run), workers)
    done = measure_calmly([run], gate, repetitions=1, patience_s=patience_s)
    return done.values[0][0], done.calm


def _with_graph(run: Run, resolved: Resolved) -> Run:
    """Return *run* with its graph, if its configuration cannot name it, or only as user code.

    The graph of a user's application is kept, because reading a run imports no user code.
    """
    kept = OBJECT_KEY in run.config["graph"] or is_own(resolved.graph.name)
    return replace(run, graph=resolved.graph) if kept else run


def estimates_of(resolved: Resolved) -> Any:
    """Return the estimates for the scheduler; None if it needs none."""
    if resolved.models is None:
        return None
    from tasksim.engine.durations import durations

    return durations(resolved.graph, resolved.platform, resolved.models).tolist()


def bounds_of(graph: TaskGraph, run: Run) -> dict[str, float]:
    """Return the lower bounds on the makespan of *run*, with the recorded durations."""
    from tasksim.run.bounds import bounds

    return bounds(graph, run.tasks.duration_s[None, :], [len(run.workers)]).to_json()


def problem_of(run: Run, graph: TaskGraph, residual: Residual | None) -> CheckFailed | None:
    """Return the error of a native *run* that breaks a rule or whose *residual* is too large."""
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
