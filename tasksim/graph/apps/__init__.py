"""Generators of task graphs, one algorithm per module."""
