"""Files: coefficient files, model files, samples, formulas as source code."""
