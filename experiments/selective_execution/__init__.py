"""Selective execution: tuning by runs that skip well-known kernels (Critter)."""
