"""What the crawl thinks of a text: its terms, the sim of a link, the m that a URL inherits, the relevance of a page.

Pure functions and small classes of floor F2: no clock, no disk, no network. `topics.py` says where the words come from.
"""
