"""Workflows and task graphs of other tools: read, and some written."""
