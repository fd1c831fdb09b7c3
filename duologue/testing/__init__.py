"""Doubles and checkers shipped with the package."""
