"""Kernel models by tensor completion: a grid over the parameters with a low-rank table on it."""
