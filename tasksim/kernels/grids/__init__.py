"""Programs on grids and matrices in blocks that run step by step: memory, loops, calls."""
