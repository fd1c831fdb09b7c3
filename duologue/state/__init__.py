"""Domain databases as plain data: loading, canonical form, digests, initialization."""
