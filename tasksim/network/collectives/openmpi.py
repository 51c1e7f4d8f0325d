"""Fixed decisions of Open MPI between algorithms of collectives, by ranks and bytes.

The tables are those of Open MPI 4.1's module *tuned* for operations that commute, as SimGrid 3.32
has them (``smpi_openmpi_selector.cpp``). A size is that of a rank's data, or its data for one
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TABLES", "openmpi"]

TABLES: Final[dict[str, str]] = {
    "allreduce": """
        4: <8 ring <4096 recursive_doubling <8192 ring <16384 recursive_doubling <262144 ring
           rabenseifner
        8: <16 ring <8192 recursive_doubling rabenseifner
        16: <8192 recursive_doubling rabenseifner
        32: <64 ring <4096 recursive_doubling rabenseifner
        64: <128 ring rabenseifner
        128: <262144 recursive_doubling rabenseifner
        256: <131072 nonoverlapping <262144 recursive_doubling rabenseifner
        512: <4096 nonoverlapping rabenseifner
        2048: <2048 nonoverlapping <16384 recursive_doubling rabenseifner
        4096: <2048 nonoverlapping <4096 ring <16384 recursive_doubling rabenseifner
        *: <2048 nonoverlapping <16384 ring <32768 recursive_doubling rabenseifner""",
    "alltoall": """
        3: <2 pairwise <4 linear <16 pairwise <64 linear <256 pairwise <4096 linear <32768 pairwise
           <1048576 linear pairwise
        8: <524288 linear <1048576 pairwise linear
        16: linear
        32: <4 linear <512 bruck linear
        64: <512 bruck linear
        128: <1024 bruck <262144 linear pairwise
        256: <1024 bruck <262144 linear pairwise
        512: <1024 bruck <32768 linear pairwise
        1024: <512 bruck <262144 linear pairwise
        2048: <512 bruck linear
        4096: <1024 bruck linear
        *: <2048 bruck linear""",
    "barrier": """
        4: recursive_doubling
        8: linear
        64: recursive_doubling
        256: dissemination
        512: tree
        1024: dissemination
        4096: tree
        *: dissemination""",
    "bcast": """
        4: <32 pipeline <256 binary <512 pipeline <1024 four_nomial <32768 segmented_chain
           <131072 binary <262144 pipeline <524288 segmented_chain <1048576 binomial binary
        8: <64 binary <128 binomial <2048 binary <8192 binomial <1048576 segmented_chain pipeline
        16: <8 four_nomial <64 binary <4096 four_nomial <16384 binary <32768 binomial
            segmented_chain
        32: <4096 four_nomial <1048576 binomial scatter_doubling
        64: <2048 binomial four_nomial
        128: four_nomial
        256: <2 binomial <16384 binary <32768 segmented_chain <65536 binary four_nomial
        1024: <16384 four_nomial <32768 binary four_nomial
        2048: <524288 four_nomial scatter_doubling
        4096: <262144 four_nomial scatter_doubling
        *: <8192 four_nomial <16384 binary <262144 four_nomial scatter_doubling""",
    "reduce": """
        4: <8 one_by_one <16 binary <32 pipeline <262144 one_by_one <524288 pipeline
           <1048576 chains pipeline
        8: <4096 binary <65536 chains <262144 segmented_binomial <524288 one_by_one
           <1048576 segmented_binomial one_by_one
        16: <8192 binary segmented_binomial
        32: <4096 binary segmented_binomial
        256: segmented_binomial
        512: <8192 segmented_binomial <16384 binary segmented_binomial
        2048: segmented_binomial
        4096: <512 segmented_binomial <1024 binary <8192 segmented_binomial <16384 binary
              segmented_binomial
        *: <16 segmented_binomial <32 binary <1024 segmented_binomial <2048 binary
           <8192 segmented_binomial <16384 binary segmented_binomial""",
    "allgather": """
        3: pairwise
        32: recursive_doubling
        64: <1024 recursive_doubling <65536 neighbours ring
        128: <512 recursive_doubling <65536 neighbours ring
        256: <512 recursive_doubling <131072 neighbours <524288 ring <1048576 neighbours ring
        512: <32 recursive_doubling <128 bruck <1024 recursive_doubling <131072 neighbours
             <524288 ring <1048576 neighbours ring
        1024: <64 recursive_doubling <256 bruck <2048 recursive_doubling neighbours
        2048: <4 recursive_doubling <8 bruck <16 recursive_doubling <32 bruck
              <256 recursive_doubling <512 bruck <4096 recursive_doubling neighbours
        4096: <32 bruck <128 recursive_doubling <512 bruck <4096 recursive_doubling neighbours
        *: <2 recursive_doubling <8 bruck <16 recursive_doubling <512 bruck
           <4096 recursive_doubling neighbours""",
    "gather": """
        4: <2 in_turns <4 one_by_one <32768 binomial <65536 one_by_one <131072 binomial in_turns
        8: <1024 binomial <8192 one_by_one <32768 binomial <262144 one_by_one in_turns
        256: binomial
        512: <2048 binomial <8192 one_by_one binomial
        *: binomial""",
    "scatter": """
        4: <2 linear <131072 one_by_one <262144 linear one_by_one
        8: <2048 binomial_near_first <4096 one_by_one <8192 binomial_near_first <32768 one_by_one
           <1048576 linear one_by_one
        16: <16384 binomial_near_first <1048576 linear one_by_one
        32: <16384 binomial_near_first <32768 one_by_one linear
        64: <512 binomial_near_first <8192 linear <16384 binomial_near_first linear
        *: <512 binomial_near_first linear""",
}
"""Operation -> rows, each with a bound of the ranks and the algorithms up to bounds of the bytes;
all bounds are exclusive."""


def openmpi(operation: str, ranks: int, size: float) -> str:
    """Return the algorithm in Open MPI's tables for an operation, a number of ranks and a size.

    >>> openmpi("allreduce", 16, 1e6)
    'rabenseifner'
    """
    words = next(words for below, words in _rows(operation) if ranks < below)
    bounds = zip(words[:-1:2], words[1::2], strict=False)
    chosen = next((name for bound, name in bounds if size < float(bound[1:])), words[-1])
    few = operation == "allreduce" and size < ELEMENT_BYTES * ranks
    return "nonoverlapping" if few and chosen == "ring" else chosen


ELEMENT_BYTES: Final = 8
"""Size of an element of a reduction in bytes: a ring forwards whole elements, if there is one per
rank.
"""


def _rows(operation: str) -> Iterator[tuple[float, list[str]]]:
    row: list[str] = []
    below = 0.0
    for word in TABLES[operation].split():
        if word.endswith(":"):
            if row:
                yield below, row
            below = float("inf") if word == "*:" else float(word[:-1])
            row = []
        else:
            row.append(word)
    yield below, row
