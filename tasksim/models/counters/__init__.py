"""Counters: what hardware or a simulated cache counts of a kernel, and times made of it."""
