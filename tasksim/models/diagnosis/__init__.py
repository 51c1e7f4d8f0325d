"""Diagnosis of kernel models, as findings about errors and missing parts."""
