"""Kinds of kernel models: histories, linear models, power laws, counter models, given durations."""
