"""Sweeps: a study file, its grid of cells, the store of their answers, the table."""
