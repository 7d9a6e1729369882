"""A reading and options in, runs out: one training each, with its facts, throughput and the program's own results."""
