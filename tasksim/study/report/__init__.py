"""Reports on studies: what their tables say, and how surely."""
