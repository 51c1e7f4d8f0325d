"""StarPU's performance models and machines: the files of a sampling directory."""
