"""Scenarios of a task graph, a platform, kernel models and a scheduler."""
