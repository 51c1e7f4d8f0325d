"""Selective execution: native runs in which what is known well enough is only charged."""
