"""Terms of a linear model in reports and files, and checks that samples determine them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.models.terms.formulas import Terms, parse_terms
from tasksim.models.terms.leastsquares import Fit, aliased

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tasksim.base.documents.json_document import Node

__all__ = ["read_interval", "read_terms", "term_table", "undecidable"]


def undecidable(terms: Terms, configurations: NDArray[np.float64], count: int) -> str:
    """Return why *count* samples of a design do not determine *terms*; "" if they do."""
    needed = len(terms)
    if len(configurations) < needed:
        return (
            f"{needed} terms ({terms}) need samples of at least {needed} configurations "
            f"(different parameters), got {len(configurations)}: measure more, or use fewer terms"
        )
    if count <= needed:
        return f"{needed} terms ({terms}) need more than {needed} samples, got {count}"
    names = [str(term) for term in terms.terms]
    combined = aliased(configurations)
    if not combined:
        return ""
    said = "; ".join(
        f"{names[index]} is a combination of {', '.join(names[i] for i in of)}"
        for index, of in combined.items()
    )
    return (
        f"the samples cannot tell these terms apart: {said}. Measure configurations in "
        "which the parameters vary independently, or leave terms out"
    )


def term_table(terms: Terms, fit: Fit) -> list[dict[str, Any]]:
    """Return the entry of each term in a report; ``vif`` is its variance inflation factor."""
    names = ("coefficient", "standard_error", "interval", "p_value", "vif")
    columns_of = (fit.coef, fit.standard_errors, fit.intervals, fit.pvalues, fit.inflation)
    rows = zip(*(column.tolist() for column in columns_of), strict=True)
    return [
        {"term": str(term), **dict(zip(names, row, strict=True))}
        for term, row in zip(terms.terms, rows, strict=True)
    ]


def read_interval(node: Node) -> list[float]:
    """Return the interval of a coefficient; a bound is NaN if unknown."""
    bounds = [bound.optional() for bound in node]
    if len(bounds) != 2:
        raise node.expected("a list of two numbers")
    return bounds


def read_terms(node: Node, entries: list[Node]) -> Terms:
    """Return the terms of a coefficient file, which must match its option ``terms``."""
    written = " + ".join(["0", *(entry["term"].text() for entry in entries)])
    try:
        terms = parse_terms(written, node["parameters"].texts())
    except InputError as error:
        raise node["terms"].error(str(error)) from None
    if len(terms) != len(entries):
        raise node["terms"].error(f"'1' is given twice ({written})")
    return terms
