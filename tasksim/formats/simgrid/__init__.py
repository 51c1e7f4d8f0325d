"""SimGrid's files: XML, and the networks in it."""
