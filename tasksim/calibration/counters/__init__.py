"""Counters of single kernels, from the processor, a simulated processor or files."""
