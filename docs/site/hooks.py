"""Pages of the documentation's site that are made from the code: the commands' help, the formats, the runners' page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parent))  # mkdocs loads this file by its path
import format_pages

ROOT = Path(__file__).resolve().parent.parent.parent
#: Pages outside ``docs``, by their name on the site.
OUTSIDE = {
    "write-a-runner.md": ROOT / "runners/README.md",
    "reporting-a-fault.md": ROOT / "SECURITY.md",
    **{f"found/{path.name}": path for path in sorted((ROOT / "tests/found").glob("*.md"))},
}
#: Sphinx's roles in docstrings, which mkdocstrings leaves as they are.
_ROLE = re.compile(r":(?:class|func|data|meth|mod|attr):(?=`|<code>)")
SCHEMAS = "perflog/show/schemas"
#: What the help is set in.
LOOK = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no files of ``docs``."""
    pages = {name: path.read_text(encoding="utf-8") for name, path in OUTSIDE.items()}
    made = {"commands.md": commands(), "api.md": functions(), **format_pages.pages()}
    for name, text in (pages | made).items():
        files.append(File.generated(config, name, content=text))
    for schema in sorted((ROOT / SCHEMAS).glob("*.json")):
        files.append(File.generated(config, f"schemas/{schema.name}", content=schema.read_text(encoding="utf-8")))
    return files


def on_page_content(html: str, **_: object) -> str:
    """Leave the roles out of the docstrings."""
    return _ROLE.sub("", html)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Let links to pages outside ``docs`` lead to them, and theirs back; list the formats on their page."""
    if page.file.src_uri == "formats.md":
        markdown += format_pages.index()
    if page.file.src_uri.startswith("formats/"):
        return markdown
    for name, path in OUTSIDE.items():
        markdown = re.sub(rf"\]\(\.\./{re.escape(str(path.relative_to(ROOT)))}(?=[)#])", f"]({name}", markdown)
    markdown = markdown.replace(f"](../{SCHEMAS}/", "](schemas/").replace(f"](../{SCHEMAS})", "](json.md)")
    # "[rank0][INFO]" of a log's line is no reference
    return re.sub(r"\]\[(?=[A-Z]+\])", r"]\\[", markdown.replace("](../docs/", "](").replace("](docs/", "]("))


def commands() -> str:
    """The help of every command, as it is printed."""
    from perflog.cli.base import GROUPS

    parts = ["# Commands\n\n```text\n" + help_of() + "\n```\n"]
    for group, names in GROUPS.items():
        parts.append(f"## {group}\n")
        parts += [f"### perflog {name}\n\n```text\n{help_of(name)}\n```\n" for name in names]
    return "\n".join(parts)


def help_of(*words: str) -> str:
    """What ``perflog WORDS --help-all`` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "perflog", *words, *(["--help-all"] if words else ["--help"])],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **LOOK},
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def functions() -> str:
    """The page of the Python functions, for mkdocstrings to fill."""
    import perflog.api

    names = [name for name in perflog.api.__all__ if name[0].islower()]
    results = [name for name in perflog.api.__all__ if name[0].isupper()]
    parts = ["# Python functions", _as_markdown(perflog.api.__doc__ or "")]
    parts += ["## Functions", *(f"::: perflog.api.{name}" for name in names)]
    parts += ["## Results", *(f"::: perflog.api.{name}" for name in results)]
    return "\n\n".join(parts) + "\n"


def _as_markdown(text: str) -> str:
    """A docstring with a table of reStructuredText's simple form as Markdown."""
    before, *table = re.split(r"^=+ +=+\n", _ROLE.sub("", text), flags=re.MULTILINE)
    if len(table) != 2:
        return before
    rows, after = table
    rows = re.sub(r"\n {10,}", " ", rows)  # a cell's second line
    cells = [re.split(r"  +", row, maxsplit=1) for row in rows.strip().splitlines()]
    lines = ["| option | meaning |", "|---|---|", *(f"| {' | '.join(row)} |" for row in cells)]
    return "\n".join([before, *lines, after]).replace("``", "`")
