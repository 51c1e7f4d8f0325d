"""A law, and what a surface, a Gaussian process and trees learn of its residuals."""
