"""Topologies of hwloc, which ``lstopo --of xml`` writes: machines as hwloc sees them."""
