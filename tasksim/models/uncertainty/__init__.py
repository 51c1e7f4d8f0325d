"""Uncertainty: between which durations a measurement will be."""
