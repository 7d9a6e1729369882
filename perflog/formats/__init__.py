"""Parser files (TOML) in, a catalogue out: what the lines of a format look like, what their numbers
mean, and the field's words for them.
"""

from perflog.formats import sources as sources  # first, as it hashes the modules that are imported after it
