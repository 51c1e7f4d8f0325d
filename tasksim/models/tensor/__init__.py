"""Kernel models by tensor completion: a grid over the parameters, and a low-rank table on it."""
