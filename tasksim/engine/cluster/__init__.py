"""Replays of clusters: messages between nodes, each with a scheduler of its own."""
