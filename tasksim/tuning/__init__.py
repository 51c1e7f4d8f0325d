"""Tuning: which choice of a tile size, a chunk, a scheduler; and what a wrong one costs.

A choice is judged by what it loses against the best one: MSOP, the mean over examples of the
performance that was chosen divided by the best there is.
"""
