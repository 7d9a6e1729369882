"""A reason in, its code out: the word by which programs tell reasons apart, whose sentences are written for people.

Codes follow from the sentences themselves, so that runs of parts, of the cache and of saved campaigns have them too. A
sentence that no line of the table knows has the code ``other``, never a wrong one.
"""

from __future__ import annotations

from perflog.lazy_regex import lazy_regex

#: The code of a reason that has no code of its own.
OTHER = "other"
#: The code of a file that could not be read, whatever kept it from being read.
UNREADABLE = "unreadable"
#: What a reason begins with or holds, and its code: the first line that matches counts. docs/json.md lists the codes.
_SENTENCES = (
    (r"internal error\b", "internal-error"),
    (r"OOM\b", "out-of-memory"),
    (r"failed\b|the training failed", "training-failed"),
    (r"the run did not reach its target|\d+ of \d+ runs did not reach their target", "target-not-reached"),
    (r"run_start without run_stop|its training has not ended", "not-ended"),
    (r"the run ends after |[\d.e+]+ (?:steps|records), last ", "run-too-short"),
    (r"no measurement lies wholly inside the window", "nothing-in-window"),
    (r"\d+ measurements, trimmed mean drops |warm-up auto: ", "too-few-measurements"),
    (r"\w+ mean needs \d+ runs?\b|MLPerf scores \S* ?by sets of |\d+ runs, \d+ dropped at each end", "too-few-runs"),
    (r"runs count different things", "different-quantities"),
    (r"the log contradicts itself|.* of the measured steps: ", "contradiction"),
    (r".*(?:ranks or runs|ranks) are blended", "blended"),
    (r"steps go back from ", "out-of-order"),
    (r"each line tells of its last step only|the log tells of a step every", "steps-not-all-printed"),
    (r"the log prints running means and does not hold their beginning", "beginning-missing"),
    (r"the log holds one record, and nothing tells how many steps", "beginning-missing"),
    (r".*says that the program's own rate counts more than this run", "beginning-missing"),
    (r"this format prints no step numbers|the lines tell how long an interval took", "no-step-numbers"),
    (r"the printed rate is one |the log's rates cannot be turned into seconds", "fact-missing"),
    (r"the log does not say what the rate counts|the rate's unit is not one that is known", "unit-unknown"),
    (r"the clock is printed in whole seconds|the digits that the log prints allow any", "clock-too-coarse"),
    (r".*is no speed that a training can have|.*of the peak cannot be", "impossible-value"),
    (r".* TFLOP/s of a device cannot be", "impossible-value"),
    (r"the log holds only the program's own summary", "summary-only"),
    (r"the program printed no summary of its own", "no-summary"),
    (r"no measurement\b|lines of .*, but no measurement among them", "no-measurement"),
    (r"no line holds a rate or a time|the measured time is zero", "no-measurement"),
    (r"no line of a known format", "unknown-format"),
    (r".* cannot read this log: |progress bars of .* alternate", "ambiguous"),
    (r"the log draws progress bars without a name|the bar counts epochs", "ambiguous"),
    (r"the same text as |the log of another rank of |it tells the same run as |it has the name of ", "counted-already"),
    (r"empty file|nothing but blanks", "empty"),
    (r"binary file|a profiler's trace|an? \S+ archive, which|a W&B run file|an SQLite database", "not-text"),
)
_KNOWN = lazy_regex("|".join(f"(?P<c{place}>{sentence})" for place, (sentence, _) in enumerate(_SENTENCES)))
#: All codes, in the order of the table.
CODES = (*dict.fromkeys(code for _, code in _SENTENCES), UNREADABLE, OTHER)


def reason_code(reason: str, unreadable: bool = False) -> str | None:
    """The code of a reason; None where there is no reason.

    Args:
        reason: why there is no number, as it is printed.
        unreadable: whether it is the reason of a file that could not be read.

    >>> reason_code("the run ends after 90 steps, warm-up 1000")
    'run-too-short'
    """
    if not reason:
        return None
    known = _KNOWN.match(reason)
    if known is None or known.lastgroup is None:
        return UNREADABLE if unreadable else OTHER
    return _SENTENCES[int(known.lastgroup[1:])][1]
