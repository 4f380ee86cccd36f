"""The topic of a crawl: weighted words from a file, or learned from the seed pages.

A topic file has one word or phrase a line, `word<TAB>weight`; `#` starts a comment line. Two or more spaces may stand
for the tab, and so may one space before a number at the end of a line: a phrase that ends in a number ("GB/T 7714")
needs its weight. A line without a weight has weight 1. UTF-8, UTF-16 and GBK are told apart, with or without BOM.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import log1p, sqrt
from pathlib import Path

from topiccrawl.errors import TopicError
from topiccrawl.records import Document
from topiccrawl.relevance.text import Tokenizer, normalise, read_words, split_words, stop_words
from topiccrawl.relevance.vectors import MAX_WEIGHT, MIN_WEIGHT, is_weight
from topiccrawl.urls import host_of

DEFAULT_WEIGHT = 1.0

TITLE, HEADINGS, TEXT = 6.0, 2.0, 1.0
"""What a mention of a word there counts when a topic is learned."""
MAX_TEXT = 20_000
"""Characters of a page's text that a topic is learned from."""
SITE_WORD = 0.4
"""What is left of the strength of a word of data/sitewords.txt."""
MENTIONS = 6
"""In the text, of such a word that stands in the title: so many, and the page is about it."""
SITE_NAME = 0.3
"""What is left of the strength of a word on a site that is called so: it says where a page stands."""
FOREIGN = 0.25
"""What is left of the strength of a word in ASCII on a page of another script, where it is often a name."""
WEAKEST = 0.4
"""Of the greatest strength. Weaker words are as likely to be wrong, and each of them makes a link relevant."""

# In this order: the BOM of UTF-16 is the beginning of that of UTF-32.
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NUMBER = r"[-+]?(?:[\d.,]*\d[\d.,]*(?:e[-+]?\d+)?|nan|inf(?:inity)?)"
_weight_at_end = re.compile(rf"(.+?)\s+({_NUMBER})", re.IGNORECASE).fullmatch
_wrong_separator = re.compile(rf"(.+?)\s*[,;:=|]\s*({_NUMBER})", re.IGNORECASE).fullmatch
_wide_gap = re.compile(r"(.+)\s{2,}(.+?)").fullmatch


@dataclass(frozen=True, slots=True)
class Topic:
    """Weighted words."""

    words: dict[str, float]  # as the user wrote them, in the order of the file
    source: str  # "file PATH" or "learned"


def read_topic(path: str | Path) -> Topic:
    """The topic in a file; TopicError if it can't be read or used."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise TopicError(f"topic file {path}: {error.strerror}; give a file that can be read") from error
    return parse_topic(data, str(path))


def parse_topic(data: bytes, where: str) -> Topic:
    """The topic in the bytes of a file called `where`; TopicError names the first line that can't be used."""
    words: dict[str, float] = {}
    lines: dict[str, int] = {}
    for number, line in _entries(_decode(data, where)):
        try:
            word, weight = _parse_line(line)
            key = normalise(word)
            if key in lines:
                raise ValueError(f"{word!r} stands already in line {lines[key]}; keep one of the two")
        except ValueError as error:
            raise TopicError(f"{where}, line {number}: {error}") from None
        lines[key] = number
        words[word] = weight
    if not words:
        raise TopicError(f"{where}: no topic word in it; write one a line, as word<TAB>weight")
    return Topic(words, f"file {where}")


def format_topic(topic: Topic) -> str:
    """The text of a topic file; `parse_topic` reads the same words from it."""
    return "".join(f"{word}\t{repr(weight).removesuffix('.0')}\n" for word, weight in topic.words.items())


def _decode(data: bytes, where: str) -> str:
    """The text of a file as editors save it; TopicError names the first line that is in no encoding."""
    for encoding in _encodings(data):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
    value = data.split(b"\n")[line - 1][:40]
    raise TopicError(f"{where}, line {line}: {value!r} is not text in UTF-8, UTF-16 or GBK; save the file as UTF-8")


def _encodings(data: bytes) -> Sequence[str]:
    """The encodings to try: by the BOM, by NUL bytes, else UTF-8 and then GB18030, which covers GBK."""
    for bom, encoding in _BOMS.items():
        if data.startswith(bom):
            return [encoding]
    if b"\0" in data:
        # Digits, spaces and line ends of UTF-16 have their NUL in the second byte when the low byte comes first.
        return ["utf-16-le" if data[1::2].count(0) >= data[::2].count(0) else "utf-16-be"]
    return ["utf-8", "gb18030"]


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers, from 1, and the lines that are neither blank nor comment."""
    # Not splitlines(), which also cuts at form feeds and the like and would count lines as no editor does.
    for number, line in enumerate(re.split(r"\r\n?|\n", text), 1):
        line = line.strip("\ufeff").rstrip()
        if line and not line.lstrip().startswith("#"):
            yield number, line


def _parse_line(line: str) -> tuple[str, float]:
    """Word and weight of one line; ValueError says what is wrong with it."""
    word, weight = _split_line(line)
    word = " ".join(word.split())
    if not any(char.isalnum() for char in normalise(word)):
        raise ValueError(f"{word!r} has no letter or digit, so it can't be found in a text; take the line out")
    return word, DEFAULT_WEIGHT if weight is None else _parse_weight(weight)


def _split_line(line: str) -> tuple[str, str | None]:
    """Word and weight as written, the weight None where the line has none."""
    if "\t" in line:
        fields = [field for field in map(str.strip, line.split("\t")) if field]
        if len(fields) > 2:
            raise ValueError(f"{line!r} has {len(fields)} fields; write word<TAB>weight")
        if len(fields) < 2:
            raise ValueError(f"{line!r} has no word before its tab; write word<TAB>weight")
        return fields[0], fields[1]
    # Full-width digits must be seen as a number here too.
    line = line.strip()
    plain = unicodedata.normalize("NFKC", line)
    if match := _weight_at_end(plain):
        return line[: -len(line.split()[-1])], match[2]
    if match := _wrong_separator(plain):
        raise ValueError(f"{line!r} has no tab before its weight; write {match[1]}<TAB>{match[2]}")
    if match := _wide_gap(line):
        return match[1], match[2]
    return line, None


def _parse_weight(text: str) -> float:
    """The weight; ValueError unless it is a number that `is_weight` takes."""
    try:
        weight = float(unicodedata.normalize("NFKC", text))
    except ValueError:
        raise ValueError(f"weight {text!r} is not a number; write one like 1 or 2.5 behind the tab") from None
    if not is_weight(weight):
        raise ValueError(f"weight {text!r} is not between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}; write one like 1 or 2.5")
    return weight


def learn_topic(pages: Sequence[tuple[str, Document]], limit: int = 12) -> Topic:
    """The strongest words of the seed pages, at most `limit`, with weights 5 down to 1; TopicError if there are none.

    `pages` are URLs and what stands there. A word's strength on one page is Σ boost · log(1 + count) over title,
    headings and text, and a share of it where the word says little (`_share`). Its strength is the sum over the pages,
    times the square root of the share of the pages that have it: what the seeds agree on comes first.

    Left out are words with less than WEAKEST of the greatest strength, function words, numbers, single characters,
    words that are the topic of no page (data/webwords.txt), and lines that stand on several pages, their template. The
    words of links do count: the seeds of a topic are often lists of links. docs/why/defaults.md has what was tried.
    """
    template = _template([document for _, document in pages])
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    strength: defaultdict[str, float] = defaultdict(float)
    shared: Counter[str] = Counter()
    for url, document in pages:
        found = _page_strength(url, document, template, spellings)
        shared.update(found.keys())
        for term, value in found.items():
            strength[term] += value
    for term in strength:
        strength[term] *= sqrt(shared[term] / len(pages))
    best = sorted(strength.items(), key=lambda item: -item[1])[:limit]
    if not best:
        raise TopicError("the seed pages hold no words to learn a topic from; give a file of topic words")
    greatest = best[0][1]
    words = {
        spellings[term].most_common(1)[0][0]: round(1 + 4 * value / greatest, 1)
        for term, value in best
        if value >= WEAKEST * greatest
    }
    return Topic(words, "learned")


def _page_strength(
    url: str, document: Document, template: frozenset[str], spellings: defaultdict[str, Counter[str]]
) -> dict[str, float]:
    """How strongly each term speaks on one page; notes in `spellings` how its words are written."""
    text = "\n".join(line for line in document.text[:MAX_TEXT].split("\n") if line not in template)
    fields = [Counter(split_words(normalise(part))) for part in (document.title, document.headings, text)]
    title, _, body = counts = [_terms(words) for words in fields]
    for words in fields:
        for word, count in words.items():
            spellings[_term(word)][word] += count
    about = {term for term in title if body[term] >= MENTIONS}
    names = _site_names(url)
    in_ascii = sum(count for word, count in fields[2].items() if word.isascii())
    foreign = 2 * in_ascii < fields[2].total()
    page: defaultdict[str, float] = defaultdict(float)
    for boost, field in zip((TITLE, HEADINGS, TEXT), counts, strict=True):
        for term, count in field.items():
            page[term] += boost * log1p(count)
    return {term: value * _share(term, term in about, term in names, foreign) for term, value in page.items()}


def _share(term: str, about: bool, name: bool, foreign: bool) -> float:
    """The part of a term's strength that is left on a page.

    about    the title has it and the text keeps to it: a page that is called "Indexes" may be about indexes
    name     the site is called so               foreign    most of the page's words are of another script than ASCII
    """
    share = 1.0
    if term in _site_terms() and not about:
        share *= SITE_WORD
    if name:
        share *= SITE_NAME
    if foreign and term.isascii():
        share *= FOREIGN
    return share


def _site_names(url: str) -> frozenset[str]:
    """The terms of a host name: `docs.python.org` is called docs and python."""
    labels = host_of(url).split(".")[:-1]
    return frozenset(map(_term, "-".join(labels).split("-")))


def _terms(words: Counter[str]) -> Counter[str]:
    """How often each term that can be learned occurs among words."""
    terms: Counter[str] = Counter()
    for word, count in words.items():
        if term := _term(word):
            terms[term] += count
    return terms


def _template(documents: Sequence[Document]) -> frozenset[str]:
    """The lines of text that stand on more than one page."""
    pages = Counter(line for document in documents for line in set(document.text[:MAX_TEXT].split("\n")))
    return frozenset(line for line, count in pages.items() if count > 1)


@lru_cache(maxsize=50_000)
def _term(word: str) -> str:
    """The term of a normalised word, "" for one that can't be learned."""
    if len(word) < 2 or word[0].isdigit() or word in stop_words():
        return ""
    term = Tokenizer().canonical(word)
    return "" if term in _web_terms() else term


@cache
def _web_terms() -> frozenset[str]:
    return frozenset(map(Tokenizer().canonical, read_words("webwords.txt")))


@cache
def _site_terms() -> frozenset[str]:
    return frozenset(map(Tokenizer().canonical, read_words("sitewords.txt")))
