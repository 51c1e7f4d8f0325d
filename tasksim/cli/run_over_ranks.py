"""``mpiexec -n N tasksim run``: all ranks execute one task graph together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from tasksim.base.errors import InputError, TasksimError

if TYPE_CHECKING:
    from tasksim.cli.output import Results
    from tasksim.graph.distribution.owners import Grid
    from tasksim.native.calm_moments import Calmness
    from tasksim.native.cluster.ranks import Ranks
    from tasksim.scenario.over_ranks import RankedScenario
    from tasksim.scenario.scenario import Scenario
    from tasksim.scenario.solving import Checked

__all__ = ["end_together", "grid_of", "run_over_ranks"]


def run_over_ranks(
    scenario: Scenario,
    grid: str | None,
    owner: str,
    *,
    results: Results,
    check: bool,
    calm: bool = False,
    check_accesses: bool = False,
) -> None:
    """Run a native *scenario* on all ranks; rank 0 keeps and prints the run.

    Whatever goes wrong on one rank while others wait for it ends all of them.
    """
    from tasksim.native.cluster.launch import end_all
    from tasksim.native.cluster.ranks import world
    from tasksim.scenario.over_ranks import RankedScenario

    ranks = world("a run over ranks")
    problem: TasksimError | None = None
    ranks.together(lambda: None if ranks.rank else results.refuse_early())
    arranged = ranks.together(lambda: grid_of(grid, ranks.size))
    ranked = RankedScenario(scenario, ranks, arranged, owner, check_accesses=check_accesses)
    try:
        found = _run(ranked, check=check, calm=calm)
        if found is not None:
            done, calmness = found
            problem = done.problem
            results.keep(done.run)
            _print(ranked, done, calmness, results)
    except TasksimError as error:
        problem = error
    except Exception as error:
        end_all(f"rank {ranks.rank}: {type(error).__name__}: {error}")
    end_together(ranks, problem)


def _run(
    ranked: RankedScenario, *, check: bool, calm: bool
) -> tuple[Checked, Calmness | None] | None:
    if calm:
        return ranked.run_calmly(check=check)
    done = ranked.run(check=check)
    return None if done is None else (done, None)


def grid_of(text: str | None, ranks: int) -> Grid:
    """Return the grid that *text* is, ``2x3``; by default a nearly square one.

    >>> grid_of("2x3", 6)
    Grid(rows=2, columns=3)
    """
    from tasksim.graph.distribution.owners import Grid, nearly_square

    if text is None:
        return nearly_square(ranks)
    found = re.fullmatch(r"([1-9]\d{0,6})[x×]([1-9]\d{0,6})", text.strip())
    if found is None:
        raise InputError(f"--grid {text}; legal: ROWSxCOLUMNS of ranks, such as 2x3")
    return Grid(int(found[1]), int(found[2]))


def _print(
    ranked: RankedScenario, done: Checked, calmness: Calmness | None, results: Results
) -> None:
    from tasksim.base.units import format_size
    from tasksim.cli.printed_runs import print_checked

    said = done.run.config["ranks"]
    messages = {"count": len(ranked.cut.messages), "bytes": ranked.cut.messages.bytes}
    more = {"nodes": ranked.ranks.size, "messages": messages, **said}
    print_checked(done, ranked.resolved.graph, calmness, results, more)
    if not results.as_json:
        unsure_s = max(c["uncertainty_s"] for c in said["clocks"])
        click.echo(
            f"\n{ranked.ranks.size} ranks, {said['grid']}: {messages['count']} messages, "
            f"{format_size(messages['bytes'])}; clocks known to {1e6 * unsure_s:.1f} us"
        )


def end_together(ranks: Ranks, problem: TasksimError | None) -> None:
    """Raise the *problem* that rank 0 may have; the others end with its exit code."""
    code = ranks.comm.bcast(0 if problem is None else problem.exit_code)
    if problem is not None:
        raise problem
    if code:
        raise SystemExit(code)
