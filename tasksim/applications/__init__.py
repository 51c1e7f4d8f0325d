"""Applications of one's own: task flows over described data, with kernels that execute."""
