"""Selective execution, that is native runs that only charge tasks of well-known kernels."""
