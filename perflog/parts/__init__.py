"""A share of many logs in, what was read of it in a file, and all shares together out again."""

#: What the names of parts end with.
ENDING = ".parquet"
