"""Traces: runs that other tools recorded, read and written."""
