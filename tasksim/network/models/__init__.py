"""Models of messages, one per file."""
