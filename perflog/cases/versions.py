"""Framework versions side by side: the configurations that several versions have a number for."""

from __future__ import annotations

from collections.abc import Iterable

from perflog.cases.case import Case
from perflog.cases.identity import told_apart_by
from perflog.errors import UsageError
from perflog.logs.find import natural


def compared(cases: Iterable[Case]) -> list[dict[str, Case]]:
    """For every configuration that two versions or more have a value for, its cases by version, oldest first.

    Two cases are of one configuration when all but the version is equal: key, label and unit.

    Raises:
        UsageError: when there are fewer than two versions, or no configuration is there in two of them.
    """
    cases = [c for c in cases if c.throughput.value and "framework_version" in c.key]
    versions = sorted({str(c.key["framework_version"]) for c in cases}, key=natural)
    if len(versions) < 2:
        found = f"{versions[0]} is the only one" if versions else "there is none"
        raise UsageError(f"two framework versions are compared and {found} among the cases: name the logs of both")
    groups: dict[tuple[object, ...], dict[str, Case]] = {}
    for case in cases:
        rest = tuple(sorted((k, v) for k, v in told_apart_by(case.key).items() if k != "framework_version"))
        groups.setdefault((rest, case.label, case.throughput.unit), {})[str(case.key["framework_version"])] = case
    both = [{v: group[v] for v in versions if v in group} for group in groups.values() if len(group) > 1]
    if not both:
        raise UsageError(
            f"no case is there in two of the versions {', '.join(versions)}: "
            "something else differs too, see `perflog extract`"
        )
    return both
