"""An extraction in, a machine's or a terminal's format out: table, Markdown, CSV, JSON, Parquet, DLPerf's files."""
