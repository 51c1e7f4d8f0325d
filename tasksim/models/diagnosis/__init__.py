"""Diagnosis: what is wrong with a model, or missing in it, in findings."""
