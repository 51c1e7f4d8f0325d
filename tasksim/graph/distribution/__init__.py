"""Distributed task graphs: who owns what, who executes what, which messages that takes."""
