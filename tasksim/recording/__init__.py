"""Recording of programs that use ``concurrent.futures`` or Dask, as runs."""
