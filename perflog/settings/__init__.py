"""Options, conventions and ``perflog.toml`` in, one frozen object of options out, with where each comes from."""
