"""Operators of a fast multipole method for the Laplace kernel, in 2-D and 3-D.

The black-box method of W. Fong and E. Darve, "The black-box fast multipole method", Journal of
Computational Physics 228(23), 2009: cells are expanded by Chebyshev interpolation, so that the
kernel itself is all that is needed of the physics.

:mod:`~tasksim.kernels.fmm.interpolation` goes from particles to the expansions of their leaves
and back (P2M, L2P), :mod:`~tasksim.kernels.fmm.translations` from cells to cells (M2M, M2L, L2L),
:mod:`~tasksim.kernels.fmm.p2p` sums over particles of leaves that touch, and
:mod:`~tasksim.kernels.fmm.direct` over all of them, to compare with.

Potentials are of 1/r in 3-D and -log r in 2-D, the force on a particle is minus its charge times
the gradient of the potential there. Arrays of particles have one row per coordinate, [d, n],
particles sorted by leaf; ``offsets`` [leaves + 1] says where each leaf begins.

Each operator is one call for as many cells as there are, and works outside the GIL. It trusts its
arguments: arrays are C-contiguous, float64 or int64 where not said otherwise, and every leaf, row
and particle that is named exists.

The modules need Numba; importing one for the first time compiles its loops, which takes seconds,
and keeps them on disk.
"""
