"""Views of a stored run: contract files, tables, SegLST."""
