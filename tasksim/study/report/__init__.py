"""Reports on studies: statistics of their tables, with confidence intervals."""
