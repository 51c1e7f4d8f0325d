"""Runs to look at: figures (matplotlib) and text tables."""
