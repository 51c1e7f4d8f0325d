"""User-defined applications, which insert tasks on described data, with executable kernels."""
