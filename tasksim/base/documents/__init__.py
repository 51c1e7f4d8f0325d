"""Documents in files, read with the place of each value, so that errors say file:line:column.

People write YAML files and small tables: YAML is checked as a whole, by declared sections, and all
problems are reported at once. Programs write JSON: it is read value by value, and the first problem
ends it.
"""
