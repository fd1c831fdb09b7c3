"""The engine's own checks of an attempt, one file each."""
