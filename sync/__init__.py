"""Cross-side sync rules, one module per dual-side domain: ``sync/<domain>.py`` (see README.md)."""
