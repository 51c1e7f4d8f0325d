"""Measurement of kernels on this machine, with stopping criteria and files of the results."""
