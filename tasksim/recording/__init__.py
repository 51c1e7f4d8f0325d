"""Recording: the tasks of a program that uses ``concurrent.futures`` or Dask, as a run."""
