"""Validation of kernel models: errors on samples and configurations that a model has not seen."""
