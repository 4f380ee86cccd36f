"""Spiders: `topic` is the crawl; subclass it to extract more from each page."""
