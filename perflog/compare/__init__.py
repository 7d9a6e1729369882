"""Two extractions in, pairs of cases with ratio, interval and verdict out.

Two sides of the same trainings: opened (``opening``, ``sides``), paired (``pairs``), judged (``rows``, by a ``rule``),
doubted (``doubts``), all of it put together (``comparing``), and shown (``columns``, ``output``, ``data``,
``picture``). The noise of one side alone: ``noise``, ``planning``, ``noise_table``, ``noise_output``.
"""
