"""Counters of kernels, from the processor, a simulated processor or files."""
