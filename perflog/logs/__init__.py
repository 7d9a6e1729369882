"""Paths in, logs out: files and members of archives, their bytes in blocks of whole lines,
clean of what terminals and launchers add."""
