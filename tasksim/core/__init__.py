"""Compiled core in C++20, a faster equivalent of parts of the engines.

It does the same in the same order as the Python parts. ``tasksim_core.h`` declares its interface,
plain functions on plain arrays. :mod:`tasksim.core.build` compiles the shared library;
:mod:`tasksim.core.library` finds and loads it. Everything works without it: a request for the
library then returns None and the reason.
"""
