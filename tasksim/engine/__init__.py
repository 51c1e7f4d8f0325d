"""The engine: replay a task graph on a platform, by SimPy's clock."""
