"""What robots.txt says: the table of origins in link.db, and the parsed rules in memory."""

from __future__ import annotations

from protego import Protego

from topiccrawl.database import Database
from topiccrawl.frontier.hosts import Origin
from topiccrawl.records import RobotsFile
from topiccrawl.urls import origin as origin_of

MAX_RULES = 2000  # parsed files held in memory


def crawl_delay(text: str, user_agent: str) -> float | None:
    """Seconds; None where there is no usable Crawl-delay."""
    delay = Protego.parse(text).crawl_delay(user_agent)
    return None if delay is None or delay < 0 else float(delay)


class RobotsRules:
    """Decides by the robots.txt files in link.db."""

    def __init__(self, database: Database, user_agent: str) -> None:
        self._database = database
        self._user_agent = user_agent
        self._rules: dict[str, Protego | None] = {}

    def allows(self, url: str) -> bool:
        site = origin_of(url)
        if site not in self._rules:
            if len(self._rules) >= MAX_RULES:
                self._rules.clear()
            self._rules[site] = self._read(site)
        rules = self._rules[site]
        return rules is None or bool(rules.can_fetch(url, self._user_agent))

    def write(self, site: str, origin: Origin, robots: RobotsFile) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?, ?, ?, ?)",
                (site, origin.state, robots.text, robots.status, origin.tries, origin.changed_at, origin.reason),
            )
        self._rules.pop(site, None)

    def forget(self, site: str) -> None:
        """The file is to be asked for anew."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM robots WHERE origin = ?", (site,))
        self._rules.pop(site, None)

    def _read(self, site: str) -> Protego | None:
        found = self._database.connection.execute(
            "SELECT text FROM robots WHERE origin = ? AND state = 'known'", (site,)
        ).fetchone()
        return Protego.parse(found[0]) if found and found[0] else None
