"""Tuning of a tile size, a chunk or a scheduler, and the cost of a wrong choice.

The measure of a choice is its loss against the best one: MSOP is the mean over examples of the
chosen performance divided by the best performance.
"""
