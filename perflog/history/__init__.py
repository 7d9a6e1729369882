"""An extraction in, a campaign in a database, and the same extraction out again; a case's series over campaigns.

The history: every campaign's cases, runs and metrics in a database, for comparisons and series without the logs.

SQLite by default, PostgreSQL for a team; one schema and one set of statements for both (SQLAlchemy Core).

==============  =====================================================================
``place``       which database, from a file's name or a URL
``schema``      its tables
``migrate``     its version, and bringing it up to date (``migrations``, Alembic)
``database``    transactions that read or write it; its errors in plain words
``plain``       runs and options as rows, and back
``save``        one campaign into it, whole or not at all
``load``        one campaign out of it, as an extraction
``campaigns``   which campaigns there are; deleting one
``series``      cases followed over campaigns
``doubts``      what changed along a series: level, machine, rule
``tell``        series and campaigns as tables, CSV and JSON
``picture``     series drawn
==============  =====================================================================
"""
