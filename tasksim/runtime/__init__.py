"""The life of a task in simulated and native runs: states, release, rules and the view."""
