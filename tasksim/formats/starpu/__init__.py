"""StarPU's performance models and machines, in the files of a sampling directory."""
