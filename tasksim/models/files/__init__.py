"""Files of kernel models: coefficient files, model files, samples, slowdowns."""
