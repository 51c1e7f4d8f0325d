"""Recording of programs that use pools, processes, joblib, Dask or asyncio, as runs."""
