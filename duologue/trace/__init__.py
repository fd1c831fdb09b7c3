"""The append-only event log of one attempt: writer and reader."""
