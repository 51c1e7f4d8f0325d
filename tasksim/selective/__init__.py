"""Selective execution: native runs that only charge tasks of well-known kernels."""
