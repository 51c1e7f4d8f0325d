"""What the tests ask of an engine is asked of the other, too: both_engines.py."""

from both_engines import both_engines

__all__ = ["both_engines"]
