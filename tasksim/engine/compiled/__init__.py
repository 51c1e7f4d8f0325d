"""The compiled core as an engine: what it is told of a replay, and what becomes of its answers."""
