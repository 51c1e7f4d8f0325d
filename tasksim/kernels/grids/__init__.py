"""Iterative programs on grids and matrices in blocks: their memory, loops and calls."""
