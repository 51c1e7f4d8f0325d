"""Readers of documents that report errors as file:line:column.

People write YAML files and small tables. YAML is checked as a whole, by declared sections, and all
problems are reported at once. Programs write JSON. It is read value by value, and the first problem
ends the reading.
"""
