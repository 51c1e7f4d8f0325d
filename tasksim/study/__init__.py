"""Studies: many runs, and what they say together."""
