"""Archives of OTF2, the format of Score-P and others."""
