"""Small programs after the NAS parallel benchmarks, with a block of data for each rank.

D. Bailey et al., "The NAS parallel benchmarks", 1991. They have the computations and messages of
EP, MG, FT, LU and BT in two dimensions; conjugate gradients are in ``cg``.
"""
