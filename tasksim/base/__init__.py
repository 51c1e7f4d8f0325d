"""Basis of every room: errors, names, units, files, the library of data."""
