"""Logs in, their records out: every measurement behind a number, as data and on a page to look at."""
