"""Common part of simulated and native runs, with the states, release and rules of tasks."""
