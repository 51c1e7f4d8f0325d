"""The life of a task, in simulated and native runs alike: states, release, rules, the view."""
