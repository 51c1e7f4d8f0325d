"""Native runtime, which runs a task graph on this machine's cores."""
