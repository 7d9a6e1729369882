"""Faults at the n-th call of the system, and what commands make of them."""
