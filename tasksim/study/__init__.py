"""Studies: many runs, and the conclusions from all of them."""
