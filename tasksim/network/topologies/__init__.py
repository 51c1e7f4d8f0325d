"""Topologies of networks, one per file."""
