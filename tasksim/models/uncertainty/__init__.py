"""Prediction intervals, noise, run-to-run variation and slowdowns of kernel models."""
