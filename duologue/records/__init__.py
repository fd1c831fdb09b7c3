"""Frozen records that every layer shares: no behaviour, no I/O."""
