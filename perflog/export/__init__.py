"""An extraction in, a machine's or a terminal's format out: table, Markdown, CSV, JSON and its schemas, Parquet, xlsx,
LaTeX, OpenMetrics, JUnit, annotations, DLPerf's files.
"""
