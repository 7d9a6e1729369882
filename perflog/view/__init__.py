"""A run over time: its records as data, and a page to look at them."""
