"""Logs in, readings out: everything that one log said, folded block by block."""
