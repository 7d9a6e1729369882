"""Logs and how they are read in, what was read before of those that have not changed out."""
