"""Findings of a diagnosis, each with its evidence and an advice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Finding", "Severity", "sorted_findings"]

Severity = Literal["warning", "note"]


@dataclass(frozen=True)
class Finding:
    """An observation about a model or its samples.

    Parameters
    ----------
    code : str
        A stable name: ``"missing-parameter"``.
    severity : {"warning", "note"}
        ``warning``: predictions may be wrong. ``note``: good to know.
    message : str
        The observation, as text.
    evidence : mapping of str to float, default={}
        The numbers behind it, by name; shares are between 0 and 1.
    advice : str, default=""
        A recommended next step.
    names : tuple of str, default=()
        The parameters or terms concerned, most important first.

    See Also
    --------
    tasksim.diagnose : Find them.

    Examples
    --------
    >>> Finding("few-values", "note", "n has 3 values").text()
    'note: n has 3 values.'
    """

    code: str
    severity: Severity
    message: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    advice: str = ""
    names: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the finding as a paragraph.

        >>> Finding("few-values", "note", "n has 3 values", advice="measure 5").text()
        'note: n has 3 values. Advice: measure 5.'
        """
        advice = f" Advice: {self.advice}." if self.advice else ""
        return f"{self.severity}: {self.message}.{advice}"


def sorted_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with warnings first, otherwise in the given order."""
    return tuple(sorted(findings, key=lambda finding: finding.severity != "warning"))
