"""Two extractions in, pairs of cases with ratio, interval and verdict out.

Two sides of the same trainings: opened (``sides``, ``when``), judged by a ``rule`` (``rows``), put together with what
speaks against them (``comparing``), and shown (``table``, ``outputs``, ``page``). The noise of one side: ``noise``.
"""
