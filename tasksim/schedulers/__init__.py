"""Scheduling policies that assign ready tasks to workers, in simulated and native runs."""
