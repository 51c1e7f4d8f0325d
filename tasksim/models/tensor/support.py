"""Support of a tensor: the parts of the box that were measured."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.base.documents.json_document import Node
    from tasksim.models.tensor.cells import Cells
    from tasksim.models.tensor.grid import Axis

__all__ = ["Support", "read_support", "support_of"]

NEIGHBOURHOOD_CELLS: Final = 9
"""Expected number of observed cells in a neighbourhood, if they were spread evenly: that it is
empty by chance has a probability of e^-9, 1 in 8000."""


@dataclass(frozen=True, eq=False)
class Support:
    """The cells with observed cells nearby, for every two parameters.

    A tensor of many modes is sparse, so a single unobserved cell says little. But if no
    observation has a similar pair of values (m below n for a kernel that is always called with m
    at least n), no measurement supports a prediction.

    Attributes
    ----------
    rows
        Per mode, which cells have observations.
    pairs
        Per two modes, in the order of :func:`itertools.combinations`, bool [cells, cells].
    """

    rows: list[NDArray[np.bool_]]
    pairs: list[NDArray[np.bool_]]

    def holds(self, index: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of the cells, intp [n, modes], are supported."""
        result = np.ones(len(index), dtype=bool)
        for mode, known in enumerate(self.rows):
            result &= known[index[:, mode]]
        for (a, b), known in zip(combinations(range(len(self.rows)), 2), self.pairs, strict=True):
            result &= known[index[:, a], index[:, b]]
        return result

    def to_json(self) -> dict[str, Any]:
        """Return the support as plain data, a text of 0 and 1 per row."""
        return {
            "rows": [_text(known) for known in self.rows],
            "pairs": [[_text(row) for row in known] for known in self.pairs],
        }


def support_of(axes: Sequence[Axis], cells: Cells) -> Support:
    """Return the support of the observed cells."""
    rows, pairs = [], []
    for mode, length in enumerate(cells.shape):
        rows.append(np.bincount(cells.index[:, mode], minlength=length) > 0)
    for a, b in combinations(range(len(axes)), 2):
        known = np.zeros((cells.shape[a], cells.shape[b]), dtype=bool)
        known[cells.index[:, a], cells.index[:, b]] = True
        side = np.sqrt(NEIGHBOURHOOD_CELLS * known.size / len(cells.values))
        reach = max(1, int(np.ceil((side - 1) / 2)))
        for mode, axis in enumerate((axes[a], axes[b])):
            if axes and axis.kind != "categorical":
                known = _widened(known, mode, reach)
        pairs.append(known)
    return Support(rows, pairs)


def read_support(node: Node, axes: Sequence[Axis]) -> Support:
    """Read what :meth:`Support.to_json` wrote."""
    rows = [_bits(row, len(axis)) for row, axis in _zipped(node["rows"], axes)]
    pairs = []
    for pair, (a, b) in _zipped(node["pairs"], list(combinations(axes, 2))):
        lines = list(pair)
        if len(lines) != len(a):
            raise pair.expected(f"{len(a)} texts")
        pairs.append(np.array([_bits(line, len(b)) for line in lines]))
    return Support(rows, pairs)


def _zipped(node: Node, others: Sequence[Any]) -> list[tuple[Node, Any]]:
    items = list(node)
    if len(items) != len(others):
        raise node.expected(f"a list of {len(others)}")
    return list(zip(items, others, strict=True))


def _widened(known: NDArray[np.bool_], mode: int, reach: int) -> NDArray[np.bool_]:
    """Return the cells within *reach* of a known one along *mode*."""
    rows = np.moveaxis(known, mode, 0)
    wide = rows.copy()
    for shift in range(1, min(reach, len(rows) - 1) + 1):
        wide[shift:] |= rows[:-shift]
        wide[:-shift] |= rows[shift:]
    return np.moveaxis(wide, 0, mode)


def _text(bits: NDArray[np.bool_]) -> str:
    return "".join("1" if bit else "0" for bit in bits.tolist())


def _bits(node: Node, length: int) -> NDArray[np.bool_]:
    text = node.text()
    if len(text) != length or set(text) - {"0", "1"}:
        raise node.expected(f"{length} digits, 0 or 1")
    return np.array([digit == "1" for digit in text])
