"""Plain functions on numbers.

Statistics for benchmark runs: plain functions on numbers, each with its source.

The opinion of this package: the run is the unit of statistics, not the step. Every run is first reduced to one
value (total work over total time); two versions are compared by those values, with a test that is exact at five
runs a side, and the interval that belongs to that test. A doubt is data on the result (``notes``, ``reason``),
never an exception, and never a finding.

======================  ==============================================================================
``centre``              centre and interval of the runs of one configuration
``mannwhitney``         the exact rank test of two samples, and its null distribution
``ratio``               new over old, with the interval that belongs to the test
``verdict``             faster, slower, same, inconclusive, or not enough data
``sequential``          a ratio that may be looked at after every round, and when a measurement ends
``memory``              what the runs and the campaigns of a case have spread by, and a row that is judged with it
``planning``            how many runs a change needs in a row that has a memory
``adjust``              p-values of many rows: Benjamini–Hochberg
``geomean``             one ratio over several rows
``quotient``            the interval of a speedup
``student``             quantiles of Student's t
``power``               the coefficient of variation; how many runs a change needs; what change so many runs can show
``warmup``              where the warm-up ends (MSER-5)
``drift``               a trend inside a window
``clusters``            runs that fall in two groups
``resolution``          what rounding in print does to a mean
``components``          how much of the variance between runs is due to their steps
``changes``             change points of a history
``prediction``          where the next value of a short history is expected
======================  ==============================================================================
"""
