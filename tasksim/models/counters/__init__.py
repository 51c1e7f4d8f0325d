"""Counters of kernels, from hardware or a simulated cache, and durations derived from them."""
