"""Validation: errors of predictions, of samples and configurations that a model has not seen."""
