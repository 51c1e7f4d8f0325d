"""Contents of the paper's figures and tables, in our words."""

from __future__ import annotations

from typing import Final

__all__ = ["REPORTED"]

REPORTED: Final = {
    "table-1": "Seven metrics. Only the means of the absolute and of the squared logarithm of "
    "predicted / measured (MLogQ, MLogQ2) are the same for predictions a factor too long and as "
    "much too short; models are judged by MLogQ.",
    "table-2": "Six applications of 2 to 12 parameters on Stampede2: matrix products and QR "
    "(sizes from 32, one core), an Intel MPI broadcast (1 to 128 nodes, 1 to 64 processes each, "
    "2^16 to 2^26 bytes), ExaFMM (6), AMG (8) and KRIPKE (9), the last two with categories.",
    "figure-1": "Three functions of x, y = 1..100, two of them with noise of 1 %, one with two "
    "behaviours split along x + y = 100, approximated by their leading singular values. Of "
    "logarithms, MLogQ falls with every rank; of durations themselves it may rise, as entries turn "
    "negative.",
    "figure-3": "With 2^14 to 2^16 samples, only tensors improve steadily with more cells, on all "
    "five applications. Sparse grids gain nothing from finer levels on FMM and AMG, splines (MARS) "
    "are far less accurate; up to 4 times larger errors than the tensor's in many dimensions.",
    "figure-4": "Rank 4 is enough to beat sparse grids and splines; larger tensors need a higher "
    "rank. Rank 8 improves the largest tensors up to 4 times. Sparse grids are not competitive "
    "even with 16 refinements (over 1000 s).",
    "figure-5": "Finer grids only help once the tensor is dense enough, and the density that is "
    "needed falls with the number of parameters: 32x32x32 is best for matrix products from 50 % "
    "(2^14 samples), 7x7x8x8x8x7x10x13 for AMG at 0.07 % with as many.",
    "figure-6": "Errors of tensors fall steadily with more samples; with many, they are the lowest "
    "of all on FMM, AMG and KRIPKE. With few samples others compete; of these, neural networks are "
    "the best in many dimensions.",
    "figure-7": "With 8192 samples: on matrix products and the broadcast as accurate as nearest "
    "neighbours and Gaussian processes at 1/16384 and 1/32 of their bytes; on FMM, AMG and KRIPKE "
    "the smallest error, with 1/50 of the bytes of the most accurate neural network.",
    "figure-8": "From 4096 samples. One size of a matrix product (N = 2^8..2^11, test from 2^11), "
    "or the message size of a broadcast: tensors are the most accurate, down to N 8 times and 2 "
    "times smaller; node counts: no better than nearest neighbours, about 25 % for N up to 32.",
}  # fmt: skip
