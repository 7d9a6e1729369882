"""What public training scripts print that no format of perflog describes, run with a clock that is known.

``loop`` has the training and its clock; a script is a function that trains with it and prints in the form of a public
program's print statements (``language``, ``vision`` … by field; ``untimed``: those that print no time). ``judging``
has perflog read what was printed and holds the number against the clock. ``python -m tests.tools.scripts`` shows all.

The forms are facts that were read in the programs' sources, which each script names. A script prints what the program
prints when it trains, in the program's order, and computes the numbers as the program does: over which steps a mean
is taken, when a clock begins anew, what falls between two lines.
"""

FIELDS = (
    "language",
    "text",
    "vision",
    "segmentation",
    "scenes",
    "speech",
    "generation",
    "graphs",
    "reinforcement",
    "tutorials",
    "untimed",
)
