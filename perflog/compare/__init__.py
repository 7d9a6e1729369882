"""Two extractions in, pairs of cases with ratio, interval and verdict out.

Two sides of the same trainings: opened (``sides``), judged (``rows`` and ``judging``, by a ``rule``), all of it put
together (``comparing``), and shown (``columns``, ``data``, ``page``). The noise of one side alone: ``noise`` and
``noise_table``.
"""
