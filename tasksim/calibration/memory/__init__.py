"""Memory of this machine, measured: latency and bandwidth of each level."""
