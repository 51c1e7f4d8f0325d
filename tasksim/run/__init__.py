"""The result of a run: its records, what they say, how it is kept."""
