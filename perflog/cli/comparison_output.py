"""What `perflog compare` prints or writes, in each of its formats, and what a workflow of GitHub Actions shows."""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from perflog.cli.output import emit, emit_to_github, tables_text, to_terminal, width_of
from perflog.errors import PerflogError, UsageError

if TYPE_CHECKING:
    from perflog.compare.rows import Comparison
    from perflog.settings.convention import GateResult
    from perflog.show.case_table import Shown


@dataclass(frozen=True, slots=True)
class Look:
    """How comparisons are shown.

    Attributes:
        form: one of :data:`perflog.compare.outputs.FORMATS`.
        marker: the name in the marker of Markdown.
        shown: the columns of tables, and of CSV.
        explained: whether it is said what the verdicts mean.
        fail_on: the reasons that the gate was asked for.
        result: what the gate says; None where there is none.
        view: the address of the page of runs over time, as it stands in a page; empty for none.
    """

    form: str
    marker: str
    shown: Shown
    explained: bool = False
    fail_on: Sequence[str] = ()
    result: GateResult | None = None
    view: str = ""


def show(comparisons: Sequence[Comparison], look: Look, output: Path | None, quiet: bool) -> None:
    """Print comparisons, or write them to a file; ``github`` also writes the job's summary and annotations.

    Raises:
        PerflogError: when a file cannot be written.
    """
    if look.form == "github":
        from perflog.compare.outputs import findings

        found = findings(comparisons, look.fail_on, look.result)
        table = partial(_table, comparisons, look, terminal=False)
        emit_to_github(_markdown(comparisons, look), table, found, output, quiet)
        return
    data, described = rendered(comparisons, look, to_terminal(output))
    emit(data, output, quiet, described)


def rendered(comparisons: Sequence[Comparison], look: Look, terminal: bool) -> tuple[str | bytes, str]:
    """Comparisons in a format, and what a picture shows.

    Args:
        terminal: whether a table goes to a person's terminal.
    """
    from perflog.compare import outputs, page
    from perflog.show.exchange import junit

    if look.form in ("svg", "png"):
        return page.picture(comparisons, look.form), page.described(comparisons)
    if look.form == "json":
        return outputs.comparison_json(comparisons), ""
    if look.form == "csv":
        return outputs.comparison_csv(comparisons, look.shown.columns), ""
    if look.form == "html":
        return page.html_page(comparisons, look.result, look.view), ""
    if look.form == "junit":
        return junit("perflog compare", outputs.tests(comparisons, look.fail_on)), ""
    return (_markdown(comparisons, look) if look.form == "markdown" else _table(comparisons, look, terminal)), ""


def _markdown(comparisons: Sequence[Comparison], look: Look) -> str:
    from perflog.compare.outputs import comment

    return comment(comparisons, look.marker, look.result, look.explained, look.shown)


def _table(comparisons: Sequence[Comparison], look: Look, terminal: bool) -> str:
    """For people: the first lines and the table of every comparison."""
    from perflog.compare.opening import opening
    from perflog.compare.table import comparison_table
    from perflog.show.text import folded

    parts = []
    for comparison in comparisons:
        shown = comparison_table(comparison, look.explained, look.shown)
        table = tables_text([shown], "table", terminal, look.shown.wide)
        first = folded("\n\n".join(opening(comparison)), width_of(terminal))
        parts.append(f"{first}\n\n{table}")
    return "\n".join(parts)


def comment_on_pull_request(comparisons: Sequence[Comparison], look: Look, quiet: bool) -> None:
    """Post the Markdown to the workflow's pull request, or replace what was posted before.

    A comment that is refused changes no exit status: the token of a fork's pull request may not write one.

    Raises:
        UsageError: outside of a workflow for a pull request, or without a token.
    """
    from perflog.compare.outputs import marker_of
    from perflog.errors import PerflogError, UsageError

    request = pull_request_of(os.environ)
    try:
        done = post(request, _markdown(comparisons, look), marker_of(look.marker))
    except UsageError:
        raise
    except PerflogError as error:
        print(f"perflog: {error}", file=sys.stderr)
        return
    if not quiet:
        print(f"{done} the comment on pull request {request.number}", file=sys.stderr)


# ----------------------------------------------------------------------------------------------------
# One comment on a pull request that is replaced by the next run, through GitHub's interface for programs.
#
# https://docs.github.com/rest/issues/comments. The token comes from the environment alone, goes to the address of
# GitHub's interface alone (no redirection is followed), and stands in no message.

#: The environment variable that holds the token.
TOKEN = "GITHUB_TOKEN"
_DEFAULT_API = "https://api.github.com"
#: Who comments with a job's own token.
_ACTIONS_BOT = "github-actions[bot]"
#: Seconds that an answer may take, the comments asked for at a time, and how many times.
_TIMEOUT, _PAGE, _MOST_PAGES = 30.0, 100, 100
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The pull request that a workflow runs for.

    Attributes:
        api: the address of GitHub's interface.
        repository: ``owner/name``.
        number: the pull request's.
        token: what lets the workflow comment.
    """

    api: str
    repository: str
    number: int
    token: str = field(repr=False)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: the token must not go elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def pull_request_of(environment: Mapping[str, str]) -> PullRequest:
    """The pull request of a workflow, by the variables that its runner sets.

    Raises:
        UsageError: when a variable is missing or not as a runner sets it, saying which.
    """
    token, repository = environment.get(TOKEN, ""), environment.get("GITHUB_REPOSITORY", "")
    if not token:
        raise UsageError(f"--comment needs a token that may write comments, in the environment's {TOKEN}")
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError("--comment: GITHUB_REPOSITORY does not say owner/name; is this a workflow of GitHub Actions?")
    api = environment.get("GITHUB_API_URL") or _DEFAULT_API
    parts = urlsplit(api)
    if parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise UsageError(f"--comment: GITHUB_API_URL is {api!r}: a token is sent to an https address alone")
    return PullRequest(api.rstrip("/"), repository, _number(environment), token)


def _number(environment: Mapping[str, str]) -> int:
    """The pull request's number, by the event that started the workflow or the branch that it runs on."""
    number = _number_of_event(environment.get("GITHUB_EVENT_PATH", ""))
    branch = re.fullmatch(r"refs/pull/([0-9]+)/(?:merge|head)", environment.get("GITHUB_REF", ""))
    if number is None and branch is None:
        raise UsageError("--comment: this workflow does not run for a pull request, so there is nothing to comment on")
    return number if number is not None else int(branch[1]) if branch is not None else 0


def _number_of_event(file: str) -> int | None:
    """The number that the event's file says; None where there is no such file or number."""
    try:
        event = json.loads(Path(file).read_text(encoding="utf-8")) if file else {}
    except (OSError, ValueError):
        return None
    number = (event.get("pull_request") or {}).get("number") if isinstance(event, dict) else None
    return number if isinstance(number, int) else None


def post(request: PullRequest, body: str, marker: str) -> str:
    """Post a comment, or put it in the place of the one by the same author that begins with the marker.

    Returns:
        What was done: ``posted`` or ``replaced``.

    Raises:
        PerflogError: when GitHub cannot be reached or refuses.
    """
    author = _author(request)
    comments = f"/repos/{request.repository}/issues/{request.number}/comments"
    for comment in _comments(request, comments):
        own = comment.get("user") or {}
        if str(comment.get("body", "")).startswith(marker) and own.get("login") == author:
            place = f"/repos/{request.repository}/issues/comments/{int(comment['id'])}"
            _call(request, "PATCH", place, {"body": body})
            return "replaced"
    _call(request, "POST", comments, {"body": body})
    return "posted"


def _author(request: PullRequest) -> str:
    """Whose comments the token writes. A job's own token may not ask who it is."""
    try:
        return str(_call(request, "GET", "/user").get("login", _ACTIONS_BOT))
    except PerflogError:
        return _ACTIONS_BOT


def _comments(request: PullRequest, place: str) -> Iterator[dict[str, Any]]:
    """All comments of the pull request, page by page."""
    for page in range(1, _MOST_PAGES + 1):
        comments = _call(request, "GET", f"{place}?per_page={_PAGE}&page={page}")
        yield from comments
        if len(comments) < _PAGE:
            return


def _call(request: PullRequest, method: str, place: str, data: Mapping[str, str] | None = None) -> Any:
    """Ask GitHub; its answer as plain data. Raises PerflogError when it cannot be had."""
    headers = {
        "Authorization": f"Bearer {request.token}", "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28", "Content-Type": "application/json", "User-Agent": "perflog",
    }  # fmt: skip
    body = None if data is None else json.dumps(data).encode()
    call = urllib.request.Request(f"{request.api}{place}", body, headers, method=method)
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(call, timeout=_TIMEOUT) as answer:
            return json.load(answer)
    except (OSError, ValueError, HTTPException) as error:  # an answer of 400 or more is an OSError too
        if isinstance(error, HTTPError):
            error.close()
        why = getattr(error, "reason", None) or str(error) or type(error).__name__
        status = getattr(error, "code", None)
        said = f"{status} {why}" if status else str(why)
        hint = "; the token needs pull-requests: write, which those of forks never have" if status == 403 else ""
        raise PerflogError(f"the comment on the pull request was not written: GitHub answered: {said}{hint}") from None
