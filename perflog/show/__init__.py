"""An extraction in, everything that people and programs see of it out: tables for terminals and Markdown, CSV, JSON
and its schemas, Parquet, xlsx, LaTeX, OpenMetrics, JUnit, annotations, DLPerf's files; pictures; tables by style,
regions of a README, reports in Markdown and HTML; the explanation of a log.
"""
