"""Options of uncertainty: what is drawn, how often, how sure; and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tasksim.cli.options import SHARE
from tasksim.cli.output import note, refuse_figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.cli.output import Results
    from tasksim.engine.choice import Engine
    from tasksim.scenario.prediction import Difference, Prediction
    from tasksim.scenario.resolved import Resolved, Resolver

__all__ = ["OPTIONS", "Asked", "Rival", "uncertainty_options"]

OPTIONS = ("uncertainty", "replications", "until", "level", "now", "against", "plot")


def uncertainty_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them by the names of :data:`OPTIONS`."""
    for option in reversed(
        (
            click.option(
                "--uncertainty",
                type=click.Choice(["none", "models", "runs", "tasks", "both", "all"]),
                default="none",
                help="Simulate many times and give intervals. Each replication draws models as"
                " other samples would have given them, how slow a run is, by itself and for what"
                " others take of the cores (runs), or the noise of tasks; both and all draw"
                " whatever is known of the three.",
            ),
            click.option(
                "--replications",
                type=int,
                help="Number of replications, with --until the most. [default: 400; with --until"
                " 20000]",
            ),
            click.option(
                "--until",
                type=SHARE,
                metavar="SHARE",
                help="Replicate until every number is known this well: '1%'.",
            ),
            click.option(
                "--level",
                type=SHARE,
                metavar="SHARE",
                help="Confidence level of intervals. [default: 95%]",
            ),
            click.option(
                "--now/--no-now",
                default=None,
                help="Predict a run that starts now, while others use this machine as they do, "
                "which takes a second to measure; or in no moment in particular. [default: now, if "
                "the models are of this machine]",
            ),
            click.option(
                "--against",
                multiple=True,
                metavar="SCHEDULER",
                help="Another scheduler, given the same draws: how often --scheduler is faster, and"
                " by how much; may be repeated.",
            ),
            click.option(
                "--plot",
                type=click.Path(path_type=Path),
                help="Draw the replications, and the kernels that their spread comes from: a .png,"
                " .pdf or .svg file.",
            ),
        )
    ):
        function = option(function)
    return function


@dataclass(frozen=True)
class Asked:
    """What was asked about uncertainty."""

    uncertainty: str = "none"
    replications: int | None = None
    until: float | None = None
    level: float | None = None
    now: bool | None = None
    against: tuple[str, ...] = ()
    plot: Path | None = None
    _probes: list[float] = field(default_factory=list)

    def refuse_early(self, noise: str, results: Results) -> None:
        """Raise for what does not go together, or could not be written after the work."""
        alone = [name for name in OPTIONS[1:] if getattr(self, name) not in (None, (), False)]
        if self.uncertainty == "none" and alone:
            raise click.UsageError(f"--{alone[0]} is about --uncertainty: give that, too")
        if self.uncertainty != "none" and noise != "none":
            raise click.UsageError("--uncertainty draws the noise of tasks, too: leave --noise out")
        if self.plot is None:
            return
        refuse_figure(self.plot, force=results.force)
        if self.plot in (results.output, results.gantt):
            raise click.UsageError(f"two results are both {self.plot}; give two names")

    def answer(self, resolved: Resolved, engine: Engine) -> Prediction | None:
        """Return how sure the makespan is; None if nobody asked."""
        if self.uncertainty == "none":
            return None
        from tasksim.scenario.sureness import how_sure_of

        return how_sure_of(
            resolved,
            uncertainty=self.uncertainty,
            replications=self.replications,
            until=self.until,
            level=0.95 if self.level is None else self.level,
            probes=self._recent(resolved),
            engine=engine,
        )

    def _recent(self, resolved: Resolved) -> list[float] | None:
        """Return how others slow this machine, if that matters: of all answers the same."""
        if self.now and not _is_of_this_machine(resolved):
            raise click.UsageError(
                "--now is for models of this machine, which these are not: calibrate it, or leave "
                "--now out"
            )
        now = _knows_others(resolved) if self.now is None else self.now
        if now and not self._probes:
            from tasksim.native.slowdown_probe import SlowdownProbe

            self._probes.extend(SlowdownProbe(len(resolved.platform.workers)).recent())
        return self._probes or None

    def rivals(
        self, resolver: Resolver, resolved: Resolved, sure: Prediction, engine: Engine
    ) -> list[Rival]:
        """Return how much longer it takes under the other schedulers, met by the same luck."""
        from tasksim.scenario.prediction import difference

        found = []
        for scheduler in self.against:
            other = resolver.resolve(resolved.scenario.vary(scheduler=scheduler))
            answer = self.answer(other, engine)
            if answer is not None:
                found.append(Rival(scheduler, difference(sure, answer), answer))
        return found

    def draw(self, own: str, sure: Prediction, rivals: list[Rival], *, force: bool) -> None:
        """Draw the answer, beside those of the other schedulers, if that was asked for."""
        if self.plot is None:
            return
        from tasksim.view.figure import save_figure
        from tasksim.view.sureplots import figure_sure

        answers = {own: sure, **{rival.scheduler: rival.prediction for rival in rivals}}
        save_figure(figure_sure(answers), self.plot, force=force)
        note(f"Wrote {self.plot}")


def _is_of_this_machine(resolved: Resolved) -> bool:
    """Return whether the platform is that of a calibration on this machine."""
    from tasksim.calibration.machine import fingerprint

    here = fingerprint(len(resolved.platform.workers))
    there = resolved.platform.fingerprint
    return all(there.get(name) == here[name] for name in ("processor", "logical_cores", "system"))


def _knows_others(resolved: Resolved) -> bool:
    """Return whether models know how others slow runs on this machine."""
    library = resolved.library
    if resolved.cluster is not None or library is None or library.slowdown_law() is None:
        return False
    return _is_of_this_machine(resolved)


class Rival(NamedTuple):
    """Another scheduler, and how much longer it takes."""

    scheduler: str
    difference: Difference
    prediction: Prediction

    def text(self, own: str) -> str:
        """Return it for people: beside *own*, the scheduler that was asked for."""
        apart = self.difference
        return (
            f"{own} is faster than {self.scheduler} in {100 * apart.first_wins:.0f} % of runs with "
            f"the same luck; {self.scheduler} takes {1e3 * apart.mean_low_s:+.3g} to "
            f"{1e3 * apart.mean_high_s:+.3g} ms more in the mean ({100 * apart.level:g} %), "
            f"{1e3 * apart.run_low_s:+.3g} to {1e3 * apart.run_high_s:+.3g} ms in one run"
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"scheduler": self.scheduler, **self.difference.to_json()}
