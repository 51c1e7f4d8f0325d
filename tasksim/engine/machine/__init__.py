"""Replay on machines with devices, with nodes, workers and submission."""
