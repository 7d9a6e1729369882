"""What else a log says about its own number: witnesses, how far they agree, and what follows.

The functions take plain values and give plain values; :mod:`perflog.runs` calls them for each run.
"""
