"""The native runtime: run a task graph for real on this machine's cores."""
