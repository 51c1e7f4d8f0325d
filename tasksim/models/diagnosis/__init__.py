"""Diagnosis of kernel models: findings about errors and missing parts."""
