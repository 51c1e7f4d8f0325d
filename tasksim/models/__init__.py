"""Kernel models: the duration of a kernel as a function of its parameters; coefficient files."""
