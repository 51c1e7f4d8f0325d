"""Calibration: measure kernels on this machine, decide when it is enough, write the files."""
