"""Threads of StarPU-SimGrid, one simcall after the other: who is first within an instant."""
