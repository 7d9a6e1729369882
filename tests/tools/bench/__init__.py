"""How fast perflog is against other ways to read the same logs: ``python -m tests.tools.bench``."""
