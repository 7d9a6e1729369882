"""Output formats: each turns an :class:`perflog.extract.Extraction` into text or a file, and prints nothing."""
