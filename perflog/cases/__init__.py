"""Runs in, cases out: one configuration with its runs, centre, interval, speedup and efficiency."""
