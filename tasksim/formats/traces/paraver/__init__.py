"""Traces of Paraver, the viewer of the Barcelona Supercomputing Center."""
