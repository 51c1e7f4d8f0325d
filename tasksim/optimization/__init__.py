"""Near-optimal schedules, by searches that replay each candidate."""
