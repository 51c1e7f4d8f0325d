"""Verdict of a tournament, the winner with its interval or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tasksim.study.report.differences import RelativeDifference, differences, leading_shares
from tasksim.study.report.evidence import CONFIDENCE_LEVEL
from tasksim.study.report.pairs import TIE_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.study.report.evidence import Evidence

__all__ = ["Verdict", "judge"]


@dataclass(frozen=True)
class Verdict:
    """Verdict on a comparison of schedulers.

    Parameters
    ----------
    kind : {"winner", "no winner", "unknown"}
        "winner" if one scheduler is faster than each other one, "no winner" if the fastest ones
        cannot be told apart, "unknown" if there are too few runs.
    winner : str or None
    alike : tuple of str
        Schedulers that may be the fastest, if there is no winner.
    text : str
        The verdict in one or two sentences, with its numbers.
    differences : tuple of RelativeDifference
        Differences of all pairs of schedulers; empty if unknown.
    leading : mapping of str to float
        Share of resamples in which each scheduler has the lowest mean.

    See Also
    --------
    judge : Make the verdict.
    """

    kind: Literal["winner", "no winner", "unknown"]
    winner: str | None
    alike: tuple[str, ...]
    text: str
    differences: tuple[RelativeDifference, ...]
    leading: Mapping[str, float]


def judge(evidence: Evidence, schedulers: Sequence[str], failures: Sequence[int] = ()) -> Verdict:
    """Return the verdict on the *schedulers*.

    A scheduler wins only if the intervals of its differences to all others exclude 0.

    Parameters
    ----------
    evidence : Evidence
    schedulers : sequence of str
        Schedulers in the order of the evidence's columns.
    failures : sequence of int, default ()
        Number of groups in which each scheduler has no makespan while another one has; these groups
        are not part of the evidence.

    Returns
    -------
    Verdict

    See Also
    --------
    tasksim.study.report.tournament.standings : Wins, ties and ratios of the schedulers.

    Notes
    -----
    A winner has to pass every comparison at the level, so the probability of a false winner is at
    most that of one false comparison (R. L. Berger, "Multiparameter hypothesis testing and
    acceptance sampling", Technometrics 24 (1982), pp. 295-300): no correction for their number is
    due.

    Examples
    --------
    >>> import numpy as np
    >>> from tasksim.study.report.evidence import Evidence
    >>> same = Evidence("configuration", np.zeros((8, 2)), 8, 1)
    >>> judge(same, ["eager", "lws"]).text
    'No winner: eager and lws have the same makespans.'
    """
    if len(schedulers) < 2:
        who = f"only {schedulers[0]}" if schedulers else "no scheduler"
        return _unknown(f"No comparison: {who} has makespans.", schedulers)
    if not len(evidence):
        why = "there is no graph, platform, settings and seed for which all schedulers have one"
        return _unknown(f"No verdict: {why}.", schedulers)
    if not evidence.enough:
        return _unknown(f"No verdict: {evidence.lack}.", schedulers)
    found = differences(evidence.log_s, schedulers)
    shares = leading_shares(evidence.log_s, schedulers)
    first = found[0].faster
    rivals = [difference for difference in found if difference.faster == first]
    close = [difference for difference in rivals if not difference.is_sure]
    if close:
        alike = (first, *(difference.slower for difference in close))
        text = _of_no_winner(first, close, evidence.scope)
        return Verdict("no winner", None, alike, text, tuple(found), shares)
    text = _of_winner(rivals, evidence.scope)
    failed = failures[schedulers.index(first)] if failures else 0
    if failed:
        groups = "1 group" if failed == 1 else f"{failed:,} groups"
        text += f" But it failed in {groups} in which another did not."
    return Verdict("winner", first, (), text, tuple(found), shares)


def _unknown(text: str, schedulers: Sequence[str]) -> Verdict:
    return Verdict("unknown", None, tuple(schedulers), text, (), {})


def _of_winner(rivals: Sequence[RelativeDifference], scope: str) -> str:
    nearest = rivals[0]
    others = "the other one" if len(rivals) == 1 else f"each of the {len(rivals)} others"
    return (
        f"{nearest.faster} wins: it is faster than {others}. Makespans of the next one, "
        f"{nearest.slower}, are {interval_text(nearest)} longer. Over {scope}."
    )


def _of_no_winner(first: str, close: Sequence[RelativeDifference], scope: str) -> str:
    names = [first, *(difference.slower for difference in close)]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    if all(max(abs(d.low), abs(d.high)) <= TIE_TOLERANCE for d in close):
        return f"No winner: {listed} have the same makespans."
    nearest = next(d for d in close if max(abs(d.low), abs(d.high)) > TIE_TOLERANCE)
    return (
        f"No winner: {listed} cannot be told apart. {first} has the lowest mean; the makespans of "
        f"{nearest.slower} are {interval_text(nearest)} longer, which may be chance. Over {scope}."
    )


def interval_text(difference: RelativeDifference) -> str:
    """Return the text of a difference with its interval, in percent.

    >>> interval_text(RelativeDifference("a", "b", 0.1, 0.05, 0.2))
    '10 % (95 % interval 5 to 20 %)'
    """
    ends = f"{_percent(difference.low)} to {_percent(difference.high)} %"
    confidence = f"{100 * CONFIDENCE_LEVEL:.0f} %"
    return f"{_percent(difference.relative)} % ({confidence} interval {ends})"


def _percent(value: float) -> str:
    return f"{100 * value + 0.0:.3g}"
