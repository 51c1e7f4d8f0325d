"""Files of kernel models, of their samples and of slowdowns."""
