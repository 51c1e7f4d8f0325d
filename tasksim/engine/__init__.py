"""Replay of task graphs on a platform, by SimPy's clock or in the compiled core."""
