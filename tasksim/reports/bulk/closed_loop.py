"""Closed loop of a scaling prediction: learn from more runs until the next one is predicted well.

Each further run first judges the model. If the model errs by more than the wanted accuracy, it
learns from the run, too, its kernels and its messages, and the next run judges (N. Ding et al.,
"APMT: an automatic hardware counter-based performance modeling tool for HPC applications").
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import CheckFailed, InputError
from tasksim.graph.distribution.owners import nearly_square
from tasksim.reports.bulk.profile import ranks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tasksim.reports.bulk.report import ScalingReport
    from tasksim.run.samples import RecordedRun

__all__ = ["Round", "closed_loop", "measured_run"]


@dataclass(frozen=True)
class Round:
    """A round of the loop, with the run that judged.

    Attributes
    ----------
    ranks : int
    measured_s, predicted_s : float
    error_percent : float
    kernels_percent, messages_percent : float
        Error of the kernels' time, and of all other time, in percent of the measured time.
    within : bool
        Whether the error is within the accuracy; else the run was learned from.
    """

    ranks: int
    measured_s: float
    predicted_s: float
    error_percent: float
    kernels_percent: float
    messages_percent: float
    within: bool

    def __str__(self) -> str:
        if self.within:
            return f"{self.ranks} ranks: errs by {self.error_percent:+.1f} %, accurate enough"
        parts = {"kernels": self.kernels_percent, "messages": self.messages_percent}
        most = max(parts, key=lambda name: abs(parts[name]))
        return (
            f"{self.ranks} ranks: errs by {self.error_percent:+.1f} %, most in {most} "
            f"({parts[most]:+.1f} %): learned from, too"
        )


def closed_loop(
    few: Sequence[RecordedRun],
    further: Iterable[RecordedRun],
    accuracy: float,
    report: Callable[[Sequence[RecordedRun], int], ScalingReport],
) -> tuple[list[RecordedRun], list[RecordedRun], list[Round]]:
    """Return the runs to learn from, that which judged them well, if any, and the rounds.

    Parameters
    ----------
    few : sequence of RecordedRun
        Runs that are learned from in any case.
    further : iterable of RecordedRun
        Further runs, on more and more ranks; no more are taken than are needed.
    accuracy : float
        Wanted relative error.
    report : callable
        Returns the report on some runs, fitted to those on up to a number of ranks.

    Raises
    ------
    InputError
        If *accuracy* is not positive.
    """
    if not accuracy > 0:
        raise InputError(f"accuracy: got {accuracy:g}; legal: more than 0")
    known, rounds = list(few), []
    for run in further:
        most = max(map(ranks_of, known))
        if ranks_of(run) <= most:  # on no more ranks: it is no test of an extrapolation
            known.append(run)
            continue
        row = report([*known, run], most).table.iloc[0]
        rounds.append(_round(row, accuracy))
        if rounds[-1].within:
            return known, [run], rounds
        known.append(run)
    return known, [], rounds


def _round(row: Any, accuracy: float) -> Round:
    measured = float(row["measured_s"])
    kernels = sum(float(row[f"counters_{part}_s"]) for part in ("computing", "memory", "others"))
    of_kernels = kernels - float(row["measured_kernels_s"])
    error = float(row["counters_s"]) - measured
    return Round(
        int(row["ranks"]), measured, float(row["counters_s"]), 100.0 * error / measured,
        100.0 * of_kernels / measured, 100.0 * (error - of_kernels) / measured,
        abs(error) <= accuracy * measured,
    )  # fmt: skip


def measured_run(command: str, ranks: int, output: Path) -> Path:
    """Run *command* on *ranks* ranks, and return *output*, where it has written its run.

    ``{ranks}``, ``{rows}`` and ``{columns}`` of a nearly square grid, and ``{output}`` stand for
    values.

    Raises
    ------
    InputError
        If the command has another name in braces, or no ``{output}``.
    CheckFailed
        If it fails: with its last line.
    """
    grid = nearly_square(ranks)
    values = {"ranks": ranks, "rows": grid.rows, "columns": grid.columns, "output": output}
    if "{output}" not in command:
        raise InputError(f"--measure: '{command}' has no {{output}}; legal: ... -o {{output}}")
    try:
        words = [word.format_map(values) for word in shlex.split(command)]
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            f"--measure: '{command}': {error}; legal in braces: {', '.join(values)}"
        ) from None
    if words[0] == "tasksim":
        words = [sys.executable, "-m", *words]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"--measure: {words[0]}: {error.strerror}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise CheckFailed(f"{shlex.join(words)}: exit code {done.returncode}: {lines[-1]}")
    return output
