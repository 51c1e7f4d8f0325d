"""Kernel models by tensor completion, with a low-rank table on a grid over the parameters."""
