"""Figures of studies, a file each, found by :mod:`tasksim.study.report.figures.registry`."""
