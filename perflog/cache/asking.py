"""The cache as users ask for it: by an option, or by the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perflog.cache.place import folder_of_cache, is_wanted

if TYPE_CHECKING:
    from perflog.cache.cache import Cache, Tell


def cache_if_wanted(asked: bool | None, tell: Tell) -> Cache | None:
    """The cache, where it is asked for: by the option, or by ``PERFLOG_CACHE`` where the option is not given.

    Args:
        asked: what the option says; None where it is not given.
        tell: told in a line why the cache is not used, or is made anew.

    Raises:
        UsageError: where there is no place for it.
    """
    if not is_wanted(asked):
        return None
    from perflog.cache.cache import Cache

    return Cache(folder_of_cache(), tell)
