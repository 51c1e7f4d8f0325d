"""Errors, names, units, files and data libraries, used by all rooms."""
