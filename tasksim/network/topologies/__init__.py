"""Topologies, one per file."""
