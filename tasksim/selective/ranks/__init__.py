"""Selective execution over ranks: one account of all of them, kept by rank 0."""
