"""Runs: records, statistics, checks and files."""
