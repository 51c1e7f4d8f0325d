"""Engine of the compiled core, with its inputs and its results."""
