"""Recording of programs that use pools, processes, joblib, Parsl, Dask or asyncio, as runs."""
