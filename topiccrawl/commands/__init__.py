"""Scrapy sub-commands: one file a command, named as it is typed. Each has an example in its --help."""
