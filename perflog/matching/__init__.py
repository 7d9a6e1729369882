"""Clean text and a catalogue in, matches out: which pattern matched where, each line given to one parser; two engines, one interface."""
