"""Operators of a fast multipole method for the Laplace kernel, in 2-D and 3-D.

This is the method of W. Fong and E. Darve, "The black-box fast multipole method", Journal of
Computational Physics 228(23), 2009. Cells are expanded by Chebyshev interpolation, so that the
method needs only the kernel itself from the physics.

- :mod:`~tasksim.kernels.fmm.interpolation` goes from particles to the expansions of their leaves
  and back (P2M, L2P).
- :mod:`~tasksim.kernels.fmm.translations` goes from cells to cells (M2M, M2L, L2L).
- :mod:`~tasksim.kernels.fmm.p2p` sums over particles of leaves that touch, and for comparison over
  all particles.

The potential is 1/r in 3-D and -log r in 2-D. The force on a particle is minus its charge times the
gradient of the potential there. Arrays of particles have one row per coordinate, [d, n], with
particles sorted by leaf; ``offsets`` [leaves + 1] has the begin of each leaf.

Each operator is one call for any number of cells, and works without the GIL. It does not check its
arguments: arrays must be C-contiguous, of float64 or int64 unless stated otherwise, and every
leaf, row and particle number must exist.

The modules need Numba. The first import of a module compiles its loops, which takes seconds, and
caches them on disk.
"""
