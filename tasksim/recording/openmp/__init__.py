"""Recording of OpenMP programs as they were compiled, as runs."""
