"""A log of a format that nobody wrote in, its runs and a parser for it out, where the log itself shows what its numbers
mean.
"""
