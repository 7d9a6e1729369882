"""A log of a format that nobody wrote in, its runs and a parser for it out, where the log itself shows what its numbers
mean: tables, what their columns say that they are, which of them is the training's, what its settings tell, the
readings that the log bears out.
"""
