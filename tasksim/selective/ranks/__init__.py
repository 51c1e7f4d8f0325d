"""Selective execution over ranks, with one account of all of them on rank 0."""
