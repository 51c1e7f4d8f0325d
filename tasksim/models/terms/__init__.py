"""Formulas, search, fit and source code of the terms of linear models."""
