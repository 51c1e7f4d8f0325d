"""Real runs over MPI: a runtime per rank, messages between them, one run recorded."""
