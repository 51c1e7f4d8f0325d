"""Figures of runs, drawn with Matplotlib, and text tables."""
