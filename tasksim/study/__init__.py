"""Studies of many runs, and conclusions from all of them."""
