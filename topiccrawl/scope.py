"""The rules that keep a URL out of a crawl whatever its m: scheme, length, allowed domains, denied patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable

from topiccrawl.records import Reason
from topiccrawl.urls import in_domains, is_http

MAX_URL_LENGTH = 2083


class Scope:
    """domains: host names, sub-domains included, empty: all. deny: regular expressions searched in the URL."""

    def __init__(self, domains: Iterable[str] = (), deny: Iterable[str] = (), max_length: int = MAX_URL_LENGTH) -> None:
        self.domains = frozenset(domains)
        self._deny = [re.compile(pattern) for pattern in deny]
        self._max_length = max_length

    def refusal(self, url: str, host: str) -> Reason | None:
        if not is_http(url):
            return Reason.SCHEME
        if len(url) > self._max_length:
            return Reason.LENGTH
        if self.domains and not in_domains(host, self.domains):
            return Reason.SCOPE
        if any(pattern.search(url) for pattern in self._deny):
            return Reason.DENY
        return None
