"""Two extractions in, pairs of cases with ratio, interval and verdict out.

Two sides of the same trainings: opened (sides), paired (pairs), judged (rows), doubted (doubts, machine), told (output, picture)."""
