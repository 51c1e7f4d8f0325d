"""Iterative programs on grids and matrices in blocks, with their memory, loops and calls."""
