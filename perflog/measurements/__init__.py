"""A pattern's matches in, measurements out: in order, with the steps, work and time of each; then a window of them, and
an estimate.
"""
