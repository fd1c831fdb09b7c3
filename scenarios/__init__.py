"""Scenario catalogues, one package per domain: ``scenarios/<domain>/`` (see README.md)."""
