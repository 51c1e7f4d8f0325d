"""The command line, which only parses, calls and prints."""
