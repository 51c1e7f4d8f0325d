"""Readers and writers of other tools' workflows and task graphs."""
