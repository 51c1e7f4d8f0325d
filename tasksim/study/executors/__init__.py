"""Executors: what computes the cells of a study, a file for each."""
