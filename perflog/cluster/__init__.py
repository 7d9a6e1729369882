"""Logs and a cluster's address in, the parts that its workers read out."""
