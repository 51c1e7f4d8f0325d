"""Reports that are no studies: on kernels and their models, on scaling; the demo."""
