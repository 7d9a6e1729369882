"""Output formats: each turns an :class:`perflog.extraction.Extraction` into text or a file, and prints nothing."""
