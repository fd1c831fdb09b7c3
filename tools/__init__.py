"""Tools, predicates and initialization functions, one package per domain: ``tools/<domain>/`` (see README.md)."""
