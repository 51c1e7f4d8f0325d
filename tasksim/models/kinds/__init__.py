"""Kinds of kernel models, such as histories, linear models and power laws."""
