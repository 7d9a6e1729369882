"""Rules of Hoefler & Belli (SC 2015) are cited for what they say: each by a word that the rule is about."""

from __future__ import annotations

import re

from tests.support import ROOT

#: Rules that are cited, by their numbers, and the words one of which must stand near the citation. Rule 2, of subsets of
#: benchmarks, and rule 9, of documented factors, were once cited for sums and for borders of windows.
ABOUT = {
    3: ("rate", "throughput"),  # rates are summarised by the harmonic mean, which is total work over total time
    4: ("ratio",),  # ratios are not averaged; the geometric mean where nothing else is there
    5: ("interval",),  # what is not deterministic has a confidence interval
    7: ("verdict",),  # what is not deterministic is compared in a statistically sound way
}


def test_each_rule_is_cited_for_what_it_is_about() -> None:
    found = 0
    for file in [*(ROOT / "perflog").rglob("*.py"), *(ROOT / "docs").glob("*.md")]:
        text = file.read_text(encoding="utf-8")
        for citation in re.finditer(r"Hoefler & Belli[^()]{0,120}?rule (\d+)", text):
            found += 1
            near = text[max(0, citation.start() - 700) : citation.end() + 100].lower()
            assert any(word in near for word in ABOUT.get(int(citation[1]), ())), f"{file}: rule {citation[1]}"
    assert found >= 5
