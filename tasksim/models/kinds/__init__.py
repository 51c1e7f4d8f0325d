"""Kinds of kernel models: histories, linear models, power laws, durations that are given."""
