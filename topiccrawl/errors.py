"""Every error that topiccrawl raises on purpose. One base, so that a caller can catch them all.

    TopicCrawlError
    ├── ParameterError        a parameter, a seeds file, a topic file or set.conf is wrong
    │   └── TopicError        the topic has no usable words, or is not the crawl folder's
    ├── CrawlFolderError      the crawl folder can't be used
    │   ├── FolderLockedError     another process is crawling in it
    │   └── NotACrawlFolderError  there is no link.db in it
    ├── DatabaseError         link.db can't be read or written
    └── NotStorableError      a Request of a user's spider can't be kept in the frontier

A message is one line: what is wrong, where, and what to do. Add a class only where a caller acts on it differently.
"""

from __future__ import annotations


class TopicCrawlError(Exception):
    """Something went wrong that the message explains in one line."""


class ParameterError(TopicCrawlError):
    """A value given by the user is wrong; nothing was changed."""


class TopicError(ParameterError):
    """The topic can't be used as given."""


class CrawlFolderError(TopicCrawlError):
    """The crawl folder can't be used."""


class FolderLockedError(CrawlFolderError):
    """Another process is crawling in this folder."""


class NotACrawlFolderError(CrawlFolderError):
    """The folder has no link.db."""


class DatabaseError(TopicCrawlError):
    """link.db can't be read or written."""


class NotStorableError(TopicCrawlError):
    """A Request can't be written to the frontier."""
