"""Terms of linear models: formulas, search, least squares, source code."""
