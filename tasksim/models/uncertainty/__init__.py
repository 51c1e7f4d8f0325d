"""Uncertainty of kernel models: prediction intervals, noise, run-to-run variation, slowdowns."""
