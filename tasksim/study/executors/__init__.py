"""Executors that compute the cells of a study, one module each."""
