"""Traces of runs, recorded by other tools or written for them."""
