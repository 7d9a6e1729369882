"""Alembic's folder: ``env.py``, and one step of the schema in each of ``versions``."""
