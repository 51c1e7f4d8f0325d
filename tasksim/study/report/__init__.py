"""Reports on studies, with statistics of their tables and confidence intervals."""
