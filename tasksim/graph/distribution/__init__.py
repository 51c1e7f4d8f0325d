"""Distributed task graphs, with owners of data, executors of tasks, and messages."""
