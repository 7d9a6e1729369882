"""Print docs/formats.md: the parsers and conventions that perflog ships."""

from __future__ import annotations

from perflog.formats.catalog import load_catalog
from perflog.settings.convention import load_conventions


def main() -> None:
    print(
        "# Formats and conventions\n\nMade by `python -m tests.tools.make_formats > docs/formats.md`. `perflog parsers show NAME` prints a parser as a page.\n"
    )
    print("| parser | framework | format | source of the format string |\n|---|---|---|---|")
    for parser in sorted(load_catalog().parsers, key=lambda p: p.name):
        print(f"| `{parser.name}` | {parser.framework or 'any'} | {parser.title} | {parser.source} |")
    print("\n## Conventions of published reports\n\n| convention | rule |\n|---|---|")
    for name, rule in load_conventions().items():
        print(f"| `{name}` | {rule.title} |")


if __name__ == "__main__":
    main()
