"""Validation of kernel models on samples and configurations that they have not seen."""
