"""Programs of the experiment: settings on some ranks, size of the problem, collectives.

Each rank has one block of a square, so that the blocks of a problem shrink as ranks are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Final

from tasksim import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PROGRAMS", "Program"]


@dataclass(frozen=True)
class Program:
    """A program, and its settings.

    Attributes
    ----------
    name
        As tasksim knows it.
    about
        What it computes, and what it sends.
    run, count
        Settings of a run, and of a campaign of counters, with ``{side}`` blocks per row of
        ``{block}`` points; ``{iterations}`` steps.
    block
        Setting with the points of a block.
    size
        Size of the problem, for ``report scaling --size``.
    collectives
        Data that collective operations send, for ``report scaling --collective``.
    slabs
        Whether a rank has rows of the square, instead of a block of it.
    """

    name: str
    about: str
    run: str
    count: str
    block: str
    size: str
    collectives: tuple[str, ...] = ()
    slabs: bool = False

    def settings(self, ranks: int, points: int, iterations: int) -> list[str]:
        """Return the settings on *ranks* ranks of a square with *points* points in a row."""
        block = block_of(ranks, points, slabs=self.slabs)
        side = ranks if self.slabs else isqrt(ranks)
        return self.run.format(side=side, block=block, iterations=iterations).split()

    def grid(self, ranks: int) -> str:
        """Return the grid of *ranks* ranks."""
        return f"{ranks}x1" if self.slabs else f"{isqrt(ranks)}x{isqrt(ranks)}"


def block_of(ranks: int, points: int, *, slabs: bool = False) -> int:
    """Return the points in a row of a rank's block, or the rows of its slab.

    Raises
    ------
    InputError
        If the ranks are no square, or their blocks are not equal.
    """
    side = ranks if slabs else isqrt(ranks)
    if not slabs and side * side != ranks:
        raise InputError(f"{ranks} ranks: each has a block of a square; legal: 1, 4, 9, 16, ...")
    if points % side:
        raise InputError(f"{points} points in a row cannot be cut into {side} equal blocks")
    return points // side


def blocks_of(ranks: Sequence[int], sizes: Sequence[int], *, slabs: bool = False) -> list[int]:
    """Return the points in a row of all blocks, for each of the *sizes*, largest first."""
    found = {block_of(P, points, slabs=slabs) for P in ranks for points in sizes}
    return sorted(found, reverse=True)


_GRID: Final = "block_rows={side} block_columns={side} block_size={block} iterations={iterations}"
_COUNTED: Final = "block_rows=1 block_columns=2 iterations=1"
_POINTS: Final = "block_rows*block_columns*block_size^2"

PROGRAMS: Final = {
    program.name: program
    for program in (
        Program(
            "jacobi", "a stencil; halos go to neighbours", _GRID, _COUNTED, "block_size", _POINTS
        ),
        Program(
            "cg", "conjugate gradients; halos go to neighbours, sums to all", _GRID, _COUNTED,
            "block_size", _POINTS,
            ("pq=reduce:binomial+bcast:linear", "rr=reduce:binomial+bcast:linear"),
        ),
        Program(
            "summa", "a product of matrices; their blocks go along rows and columns",
            "tiles={side} tile_size={block}", "tiles=1", "tile_size", "tiles^3*tile_size^3",
        ),
        Program(
            "mg", "multigrid, after MG of NAS; smaller and smaller halos go to neighbours", _GRID,
            _COUNTED, "block_size", _POINTS,
        ),
        Program(
            "ssor", "sweeps, after LU of NAS; a wave of edges goes over the ranks", _GRID,
            f"{_COUNTED} planes=2", "block_size", _POINTS,
        ),
        Program(
            "adi", "lines solved in two directions, after BT of NAS; halos go to neighbours",
            _GRID, _COUNTED, "block_size", _POINTS,
        ),
        Program(
            "ep", "pairs of random numbers, after EP of NAS; only their counts are summed",
            "block_rows={side} block_columns={side} block_size={block}",
            "block_rows=1 block_columns=2", "block_size", _POINTS, ("counts=reduce:binomial",),
        ),
        Program(
            "ft", "Fourier transforms, after FT of NAS, of powers of two; all send to all",
            "slabs={side} slab_rows={block} iterations={iterations}", "slabs=2 iterations=1",
            "slab_rows", "slabs^2*slab_rows^2", slabs=True,
        ),
    )
}  # fmt: skip
"""Programs by name."""
