"""The command line: nothing but parsing, calling, printing."""
