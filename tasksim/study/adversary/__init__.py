"""Search for instances on which one scheduler is much worse than another."""
