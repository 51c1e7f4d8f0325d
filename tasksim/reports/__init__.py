"""Reports on kernels, models and scaling, and the demo."""
