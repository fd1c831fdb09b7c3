"""The commands: parsing, printing, exit codes."""
