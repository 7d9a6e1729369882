"""Many small logs in, what became of each out: read by processes of their own where that is sooner."""
