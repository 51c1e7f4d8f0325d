"""The ``tasksim simulate`` command, which replays a task graph on a platform."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from tasksim.base.interruption import INTERRUPTED_EXIT_CODE
from tasksim.cli.command import command
from tasksim.cli.options import (
    PATH,
    SHARE,
    auto_option,
    automatic,
    cluster_options,
    given_parameters,
    graph_argument,
    result_options,
    scenario_options,
    scheduler_option,
    seed_option,
    trust_option,
)
from tasksim.cli.output import (
    ResultOptions,
    describe_run,
    note,
    note_written,
    print_json,
    print_run,
    refuse_figure,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tasksim.engine.choice import Engine
    from tasksim.engine.pricing import Noise
    from tasksim.models.uncertainty.slowdownlaw import Probe
    from tasksim.run.record import Run
    from tasksim.scenario.prediction import Difference, Prediction
    from tasksim.scenario.replayed import Replayed
    from tasksim.scenario.resolved import Resolved, Resolver
    from tasksim.scenario.scenario import Scenario

__all__ = ["simulate_command"]

DEFAULT_SCHEDULER = "lws"
"""Scheduler if none is given: StarPU's default."""
SLOW_WORKER_FACTOR = 10.0
"""Ratio of a kernel's mean durations on two architectures from which on a note questions the
default scheduler."""
UNCERTAINTY_OPTIONS = ("uncertainty", "replications", "until", "level", "now", "against", "plot")


def _uncertainty_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them by the names of :data:`UNCERTAINTY_OPTIONS`."""
    for option in reversed(
        (
            click.option(
                "--uncertainty",
                type=click.Choice(["none", "models", "runs", "tasks", "both", "all"]),
                default="none",
                help="Simulate many replications, and print intervals. Each replication draws"
                " the models as other samples would have given them (models), the slowdown of the"
                " run, its own and by other programs (runs), or the noise of the tasks (tasks);"
                " with both or all, whatever is known of these three.",
            ),
            click.option(
                "--replications",
                type=int,
                help="Number of replications; with --until, the largest one. [default: 400; with"
                " --until 20000]",
            ),
            click.option(
                "--until",
                type=SHARE,
                metavar="SHARE",
                help="Relative half width to reach for every printed number, by more replications:"
                " '1%'.",
            ),
            click.option(
                "--level",
                type=SHARE,
                metavar="SHARE",
                help="Confidence level of the intervals. [default: 95%]",
            ),
            click.option(
                "--now/--no-now",
                default=None,
                help="Predict a run that starts now, beside the other programs on this machine,"
                " whose load is measured for a second; or a run at any moment. [default: now, if"
                " the models are of this machine]",
            ),
            click.option(
                "--against",
                multiple=True,
                metavar="SCHEDULER",
                help="Scheduler to compare with on the same draws: how often --scheduler is"
                " faster, and by how much; may be repeated.",
            ),
            click.option(
                "--plot",
                type=PATH,
                help="Figure of the replications, and of the kernels that cause their spread: a"
                " .png, .pdf or .svg file.",
            ),
        )
    ):
        function = option(function)
    return function


@dataclass(frozen=True)
class _Asked:
    """The options about uncertainty."""

    uncertainty: str = "none"
    replications: int | None = None
    until: float | None = None
    level: float | None = None
    now: bool | None = None
    against: tuple[str, ...] = ()
    plot: Path | None = None
    _probes: list[Probe] = field(default_factory=list)

    def refuse_early(self, noise: str, results: ResultOptions) -> None:
        """Refuse options that exclude each other, and outputs that could not be written later."""
        alone = [
            name for name in UNCERTAINTY_OPTIONS[1:] if getattr(self, name) not in (None, (), False)
        ]
        if self.uncertainty == "none" and alone:
            raise click.UsageError(f"--{alone[0]} is for --uncertainty: give that, too")
        if self.uncertainty != "none" and noise != "none":
            raise click.UsageError("--uncertainty draws the noise of tasks, too: leave --noise out")
        if self.plot is None:
            return
        refuse_figure(self.plot, force=results.force)
        if self.plot in (results.output, results.gantt):
            raise click.UsageError(f"two results are both {self.plot}; give two names")

    def answer(self, resolved: Resolved, engine: Engine) -> Prediction | None:
        """Return the prediction with intervals; None without ``--uncertainty``."""
        if self.uncertainty == "none":
            return None
        from tasksim.cli.progress import counting
        from tasksim.scenario.sureness import how_sure_of

        probes = self._recent(resolved)
        with counting("replications") as progress:
            return how_sure_of(
                resolved,
                uncertainty=self.uncertainty,
                replications=self.replications,
                until=self.until,
                level=0.95 if self.level is None else self.level,
                probes=probes,
                engine=engine,
                progress=progress,
            )

    def _recent(self, resolved: Resolved) -> list[Probe] | None:
        """Return how other programs slow this machine now, once for all answers; None elsewhere."""
        if self.now and not _is_of_this_machine(resolved):
            raise click.UsageError(
                "--now is for models of this machine, which these are not: calibrate it, or leave "
                "--now out"
            )
        now, library = self.now, resolved.library
        if now is None:  # the default: if the models know how other programs slow runs here
            now = (
                resolved.cluster is None
                and library is not None
                and library.slowdown_law() is not None
                and _is_of_this_machine(resolved)
            )
        if now and not self._probes:
            from tasksim.native.slowdown_probe import SlowdownProbe

            self._probes.extend(SlowdownProbe(len(resolved.platform.workers)).recent())
        return self._probes or None

    def rivals(
        self, resolver: Resolver, resolved: Resolved, sure: Prediction, engine: Engine
    ) -> list[_Rival]:
        """Return the differences to the other schedulers, on the same draws."""
        from tasksim.scenario.prediction import difference

        found = []
        for scheduler in self.against:
            other = resolver.resolve(resolved.scenario.vary(scheduler=scheduler))
            answer = self.answer(other, engine)
            if answer is not None:
                found.append(_Rival(scheduler, difference(sure, answer), answer))
        return found

    def draw(self, own: str, sure: Prediction, rivals: list[_Rival], *, force: bool) -> None:
        """Draw the answer beside those of the other schedulers, if ``--plot`` asks for it."""
        if self.plot is None:
            return
        from tasksim.view.figure import save_figure
        from tasksim.view.sureplots import figure_sure

        answers = {own: sure, **{rival.scheduler: rival.prediction for rival in rivals}}
        save_figure(figure_sure(answers), self.plot, force=force)
        note_written(self.plot)


def _is_of_this_machine(resolved: Resolved) -> bool:
    """Return whether the platform is that of a calibration on this machine."""
    from tasksim.calibration.machine import machine_facts

    here = machine_facts(len(resolved.platform.workers))
    there = resolved.platform.fingerprint
    return all(there.get(name) == here[name] for name in ("processor", "logical_cores", "system"))


class _Rival(NamedTuple):
    """A scheduler of ``--against``, and the difference of its run."""

    scheduler: str
    difference: Difference
    prediction: Prediction

    def text(self, own: str) -> str:
        """Return the comparison with *own*, the scheduler of the command, in words."""
        apart = self.difference
        return (
            f"{own} is faster than {self.scheduler} in {100 * apart.first_wins:.0f} % of runs with "
            f"the same luck; {self.scheduler} takes {1e3 * apart.mean_low_s:+.3g} to "
            f"{1e3 * apart.mean_high_s:+.3g} ms more in the mean ({100 * apart.level:g} %), "
            f"{1e3 * apart.run_low_s:+.3g} to {1e3 * apart.run_high_s:+.3g} ms in one run"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {"scheduler": self.scheduler, **self.difference.to_json()}


WITH_FROM = {
    "from_run", "trust", "changes", "output", "gantt", "force", "as_json", "check", "decisions",
    "engine", "log", "debug",
}  # fmt: skip
"""Options that are allowed together with ``--from``."""


@command(
    "simulate",
    examples=[
        "tasksim simulate cholesky tiles=20 --workers 8 --durations potrf=1,trsm=3,syrk=3,gemm=6",
        "tasksim simulate cholesky tiles=20 --platform mymachine --scheduler dm -o runs/dm",
        "tasksim simulate qr tiles=16 --platform mymachine --set platform.workers.cpu.count=24",
        "tasksim simulate cholesky tiles=14 --platform mymachine --uncertainty both --plot a.png",
        "tasksim simulate cholesky tiles=40 --platform mymachine --nodes 4 --grid 2x2 "
        "--network switch:bandwidth=12.5GB/s,latency=1us",
        "tasksim simulate --from runs/dm --gantt dm.pdf",
        "tasksim simulate runs/native --durations measured --scheduler dm",
    ],
)
@graph_argument(required=False)
@scenario_options
@cluster_options
@scheduler_option(DEFAULT_SCHEDULER)
@auto_option
@seed_option
@click.option(
    "--noise",
    type=click.Choice(["none", "model"]),
    default="none",
    help="Duration of a task: its model's mean (none), or a draw from its model's distribution"
    " (model).",
)
@_uncertainty_options
@click.option("--check", is_flag=True, help="Verify every invariant of the result.")
@click.option(
    "--decisions",
    is_flag=True,
    help="Record the decisions of the scheduler with the run, for 'tasksim why' and for pages that"
    " play the run; on one node.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "simpy", "compiled"]),
    default="auto",
    help="Engine of the replay, with the same results: the compiled core, or its reference in"
    " SimPy; auto takes the core where possible.",
)
@click.option(
    "--from",
    "from_run",
    type=PATH,
    help="Recorded run to repeat, a folder or its run.json; --set changes it.",
)
@trust_option
@result_options
@click.pass_context
def simulate_command(
    ctx: click.Context,
    /,
    scenario: Scenario,
    scheduler: str,
    seed: int,
    noise: Noise,
    check: bool,
    decisions: bool,
    engine: Engine,
    from_run: Path | None,
    trust: bool,
    auto: Path | None,
    **where: Any,
) -> None:
    """Predict a run: replay a task graph on a platform.

    GRAPH is a generator (see 'tasksim list generators') with its KEY=VALUE settings, a graph file,
    or a file of costs per processor (.csv), which brings its own platform. The duration of a task
    comes from --durations; or else from kernel models, those of --models or of the platform; or
    else from its parameter duration_s, which all tasks of chain, fork-join and random-layered have,
    and barriers, with 0.

    GRAPH may also be the folder of a recorded run. Its graph is then simulated on its platform,
    unless --platform or --workers is given, under its scheduler, unless --scheduler is given. With
    --durations measured each task takes its recorded duration, with --durations means the mean of
    its configuration.
    """
    doubts = _Asked(**{name: where.pop(name) for name in UNCERTAINTY_OPTIONS})
    results = ResultOptions(**where)
    if decisions and results.output is None:
        raise click.UsageError("--decisions records them with the run: give -o FOLDER, too")
    doubts.refuse_early(noise, results)
    from tasksim.cli.progress import counting, stages
    from tasksim.scenario.resolved import Resolver
    from tasksim.scenario.solving import replay

    resolver = Resolver()
    recorded: Run | None = None
    replayed: Replayed | None = None
    changed = False
    if from_run is not None:
        _refuse_others(ctx)
        recorded, repeated = _recorded(from_run, trust)
        scenario, changed = repeated.with_changes(scenario.changes), bool(scenario.changes)
    elif trust:
        raise click.UsageError("--trust is for recorded runs: give --from RUN")
    elif not scenario.graph:
        raise click.UsageError("Missing argument 'GRAPH' (or --from RUN).")
    else:
        replayed = resolver.source(scenario).recorded
        asked_for = ctx.get_parameter_source("scheduler") is ParameterSource.COMMANDLINE
        if replayed is not None and not asked_for:
            from tasksim.schedulers.registry import SCHEDULERS

            if replayed.run.scheduler.partition(":")[0] in SCHEDULERS:
                scheduler = replayed.run.scheduler
        asked = scenario.vary(scheduler=scheduler, seed=seed, noise=noise)
        scenario = automatic(asked, auto)
    results.refuse_early()
    with stages("simulating", [1]) as begin:
        begin("the graph")
        resolved = resolver.resolve(scenario)
    with counting("simulating", ticking=True) as progress:
        run = replay(
            resolved, check=check, engine=engine, digests=results.output is not None,
            decisions=decisions, progress=progress,
        )  # fmt: skip
    if recorded is not None and not changed:
        _warn_of_differences(recorded, run)
    sure = doubts.answer(resolved, engine)
    rivals: list[_Rival] = []
    if sure is not None:
        rivals = [] if sure.interrupted else doubts.rivals(resolver, resolved, sure, engine)
        against = {"against": [rival.to_json() for rival in rivals]} if rivals else {}
        run = replace(run, uncertainty={**sure.to_json(), **against})
    try:
        results.keep(run)
        if sure is not None:
            doubts.draw(run.scheduler, sure, rivals, force=results.force)
    finally:  # print the answer even if the disk is full
        _print(run, resolved, results, sure)
        # A recorded run is repeated under its own scheduler.
        if recorded is None and ctx.get_parameter_source("scheduler") is ParameterSource.DEFAULT:
            _note_slow_workers(run)
        if replayed is not None and scenario.workers is not None:
            _note_identical_workers(replayed.run, scenario.workers)
        if rivals and not results.as_json:
            click.echo("\n".join(rival.text(run.scheduler) for rival in rivals))
    if sure is not None and sure.interrupted:
        ctx.exit(INTERRUPTED_EXIT_CODE)


def _recorded(path: Path, trust: bool) -> tuple[Run, Scenario]:
    """Return the run of ``--from``, and its scenario."""
    from tasksim.cli.progress import stages
    from tasksim.formats.runs import load_checked_run
    from tasksim.scenario.recorded import scenario_of

    with stages("simulating", [1]) as begin:
        begin("reading the run")
        run = load_checked_run(path)
    return run, scenario_of(run, path, trust=trust)


def _refuse_others(ctx: click.Context) -> None:
    """Refuse options that a recorded run settles."""
    for parameter in given_parameters(ctx):
        if (name := parameter.name or "") not in WITH_FROM:
            text = parameter.opts[-1] if parameter.param_type_name == "option" else name.upper()
            raise click.UsageError(f"--from repeats a run as it was; {text} cannot be given", ctx)


def _note_identical_workers(recorded: Run, workers: int) -> None:
    """Say what ``--workers`` leaves out of a recorded run's platform, which ``--set`` keeps."""
    if recorded.kind != "native":
        return
    kinds = [worker.architecture for worker in recorded.workers if worker.architecture != "main"]
    note(
        f"--workers {workers} are identical workers without the overheads of the recording; --set "
        f"platform.workers.{(kinds or ['cpu'])[0]}.count={workers} keeps those"
    )


def _warn_of_differences(recorded: Run, run: Run) -> None:
    if run.tasks == recorded.tasks:
        return
    from tasksim.scenario.fingerprints import changed_files

    changed = changed_files(recorded)
    why = f"; changed since: {', '.join(changed)}" if changed else ""
    warn(
        f"this is not the recorded run: makespan {run.makespan_s:.9g} s,"
        f" then {recorded.makespan_s:.9g} s{why}"
    )


def _note_slow_workers(run: Run) -> None:
    """Say if the scheduler, which nobody chose, ignores durations that differ much by worker."""
    if (
        run.scheduler != DEFAULT_SCHEDULER
        or len({worker.architecture for worker in run.workers}) == 1
    ):
        return
    from tasksim.run.compare import mean_durations

    means = mean_durations(run)
    ratios = [
        (slow_s / fast_s, kernel, slow, fast)
        for (kernel, slow), slow_s in means.items()
        for (other, fast), fast_s in means.items()
        if other == kernel and fast_s > 0
    ]
    factor, kernel, slow, fast = max(ratios, default=(0.0, "", "", ""))
    if factor >= SLOW_WORKER_FACTOR:
        note(
            f"{kernel} took {factor:.0f} times as long on {slow} as on {fast}, and "
            f"{DEFAULT_SCHEDULER}, the default scheduler, ignores durations; dmda and dmdas use "
            "them"
        )


def _said_by(sources: dict[str, str]) -> str:
    """Return the sources of the kernels' durations, in words.

    >>> _said_by({"potrf": "models", "barrier": "tasks", "gemm": "models"})
    'models: potrf, gemm; tasks: barrier'
    """
    words = dict.fromkeys(sources.values())
    return "; ".join(f"{w}: {', '.join(k for k in sources if sources[k] == w)}" for w in words)


def _print(run: Run, resolved: Resolved, results: ResultOptions, sure: Prediction | None) -> None:
    advice, sources = resolved.advice(), resolved.sources
    guessed, overfull = advice["beyond_contention"], advice["overfull"]
    said = [line for lines in advice.values() for line in lines]
    for message in said if sure is None else [*said, *sure.warnings()]:
        warn(message)
    if results.as_json:
        print_json(
            {
                **describe_run(run, resolved.graph),
                "noise": resolved.scenario.noise,
                **({} if sure is None else {"uncertainty": run.uncertainty}),
                "extrapolated": advice["extrapolated"],
                **({"guessed": guessed} if guessed else {}),
                **({"overfull": overfull} if overfull else {}),
                **({"durations_from": sources} if sources else {}),
                "engine": run.engine,
                "engine_why": run.engine_why,
                "simulation_wall_s": run.wall_s,
                "tasks_per_s": len(run) / run.wall_s if run.wall_s else None,
                "output": results.output,
                "gantt": results.gantt,
            }
        )
        return
    print_run(run, f"\ndurations by   {_said_by(sources)}" if sources else "")
    if sure is not None:
        click.echo(f"\n{sure.text()}")
