"""Fixtures: each question to one engine goes to the other, too (both_engines.py)."""

from both_engines import both_engines

__all__ = ["both_engines"]
