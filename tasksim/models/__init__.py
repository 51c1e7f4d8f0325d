"""Models of the duration of a kernel as a function of its parameters, and their files."""
