"""Terms of linear models: their formulas, the search for them, least squares."""
