"""Experiments: each is one command that measures, predicts, compares, and writes a report.

::

    python -m experiments.irregular_kernels
"""
