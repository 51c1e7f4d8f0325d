"""Learned models: a law, corrected by a surface, a Gaussian process and trees."""
