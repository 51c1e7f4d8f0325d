"""Counters of kernels by themselves: counted by the processor, in a simulated one, or in files."""
