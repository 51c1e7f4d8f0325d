"""Experiments: each is one command that measures, predicts, compares, and writes a report.

::

    python -m tasksim.experiments.irregular_kernels
"""
