"""Native runs over MPI, with a runtime per rank and messages between them."""
