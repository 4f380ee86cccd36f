"""The evaluation kit: replays of crawls on a recorded web, with the real frontier, judge and strategies.

    web.py      a recorded web: what a server would answer       parsed.py       its pages, parsed once by html.py
    graph.py    what links to what, and the oracle's order       contenders.py   the orders that are compared
    replay.py   a simulated downloader in virtual time           session.py      runs contenders on topics
    measure.py  harvest, recall, area, AUC, F1                   report.py       tables and JSON rows
    picture.py  the curves of recall                             record.py       a recorded web made of a crawl folder

Nothing here opens a connection or starts Scrapy's engine.
"""
