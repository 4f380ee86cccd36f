"""The algorithm read naively, with a list. `fetch(url)` answers (status, type, location, body) of one hop."""

from math import sqrt

from topiccrawl.html import parse_html, parse_text
from topiccrawl.relevance.text import Tokenizer
from topiccrawl.urls import join, url_key

SORT = {
    "topic": lambda r: (r["k"], -r["sim"], r["seq"]),
    "breadth": lambda r: (r["depth"], r["seq"]),
    "depth": lambda r: (-r["depth"], r["seq"]),
}


def sims(topic):
    tokenizer = Tokenizer(topic)
    weights = {tokenizer.canonical(word): weight for word, weight in topic.items()}
    right = sqrt(sum(w * w for w in weights.values()))

    def sim(text):
        terms = tokenizer.terms(text)
        tf = {t: terms.count(t) for t in terms}
        dot = sum(n * weights.get(t, 0) for t, n in tf.items())
        return round(65535 * dot / (sqrt(sum(n * n for n in tf.values())) * right)) if dot else 0

    return sim


def crawl(seeds, topic, fetch, strategy="topic", b=0.5, f=0.02, m_min=0.05):
    known, sim = {}, sims(topic)

    def put(url, k, s, depth):
        queue = "discard" if b**k < m_min or not url.startswith("http") else "waiting"
        new = {"url": url, "k": k, "sim": s, "depth": depth, "queue": queue, "seq": len(known)}
        old = known.setdefault(url_key(url), new)
        if old is not new and old["queue"] in ("waiting", "discard") and url.startswith("http"):
            if (-k, s) > (-old["k"], old["sim"]):
                old.update(k=k, sim=s, queue=queue)
            old["depth"] = min(depth, old["depth"])

    for url in seeds:
        put(url, 0, 65535, 0)
    while waiting := [r for r in known.values() if r["queue"] == "waiting"]:
        row = min(waiting, key=SORT[strategy])
        row["queue"] = "done"
        yield row["url"]
        status, kind, location, body = fetch(row["url"])
        if 300 <= status < 400:
            put(join(row["url"], location), row["k"], row["sim"], row["depth"])
        if status != 200 or kind not in ("text/html", "text/plain"):
            continue
        page = (parse_html if kind == "text/html" else parse_text)(body, row["url"])
        best = {}
        for link in page.links if "nofollow" not in page.robots else ():
            first, top = best.get(url_key(link.url), (link.url, -1))
            best[url_key(link.url)] = (first, max(top, sim(link.text)))
        for url, s in best.values():
            put(url, 0 if s >= round(65535 * f) else row["k"] + 1, s, row["depth"] + 1)
