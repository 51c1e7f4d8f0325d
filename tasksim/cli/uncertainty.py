"""Options of uncertainty: what is drawn, how often, how sure; and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tasksim.cli.options import SHARE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.choice import Engine
    from tasksim.scenario.prediction import Prediction
    from tasksim.scenario.resolved import Resolved

__all__ = ["OPTIONS", "Asked", "uncertainty_options"]

OPTIONS = ("uncertainty", "replications", "until", "level")


def uncertainty_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them by the names of :data:`OPTIONS`."""
    for option in reversed(
        (
            click.option(
                "--uncertainty",
                type=click.Choice(["none", "models", "runs", "tasks", "both", "all"]),
                default="none",
                help="Say how sure the makespan is: simulate many times with models drawn as "
                "other samples may have given them, runs as slow as some are, or tasks with "
                "their noise; both, or all: whatever is known of the three.",
            ),
            click.option(
                "--replications",
                type=int,
                help="How many times, or with --until at most. [default: 400, or 20000]",
            ),
            click.option(
                "--until",
                type=SHARE,
                metavar="SHARE",
                help="Go on until every number is known that well: '1%'.",
            ),
            click.option(
                "--level", type=SHARE, metavar="SHARE", help="Of intervals. [default: 95%]"
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

    def refuse_early(self, noise: str) -> None:
        """Raise for what does not go together."""
        alone = [name for name in OPTIONS[1:] if getattr(self, name) is not None]
        if self.uncertainty == "none" and alone:
            raise click.UsageError(f"--{alone[0]} is about --uncertainty: give that, too")
        if self.uncertainty != "none" and noise != "none":
            raise click.UsageError("--uncertainty draws the noise of tasks, too: leave --noise out")

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
            engine=engine,
        )
