"""Replays of clusters, with messages between nodes and a scheduler per node."""
