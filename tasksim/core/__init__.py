"""The compiled core: C++20 that does what the engines' parts do, in the same order, faster.

``tasksim_core.h`` declares what it offers, plain functions on plain arrays.
:mod:`tasksim.core.build` makes a shared library of it; :mod:`tasksim.core.library` finds that and
loads it. Nothing is missing without it: whoever asks gets None, and why.
"""
