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
from math import log1p
from pathlib import Path

from topiccrawl.errors import TopicError
from topiccrawl.records import Document
from topiccrawl.relevance.page import MAX_TEXT
from topiccrawl.relevance.text import Tokenizer, normalise, read_words, split_words, stop_words
from topiccrawl.relevance.vectors import MAX_WEIGHT, MIN_WEIGHT, is_weight

DEFAULT_WEIGHT = 1.0

TITLE, HEADINGS, TEXT = 6.0, 2.0, 1.0
"""What a mention of a word there counts when a topic is learned."""
MENTIONS = 6
"""In the text, of a word of every website that stands in the title: so many, and the page is about it."""
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


def learn_topic(documents: Sequence[Document], limit: int = 15) -> Topic:
    """The strongest words of the seed pages, at most `limit`, with weights 5 down to 1; TopicError if there are none.

    A word's strength on one page is Σ boost · log(1 + count) over title, headings and text, divided by the greatest
    strength there; a word of several seeds has the sum, so what they share comes first. Left out are words with less
    than WEAKEST of the greatest strength, function words, numbers, single characters, lines that stand on several
    pages, which are their template, and words of every website (data/webwords.txt) but for those that a page is about.
    The words of links do count: the seeds of a topic are often lists of links. docs/why/defaults.md has what was tried.
    """
    template = _template(documents)
    strength: Counter[str] = Counter()
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for document in documents:
        page = _page_strength(document, template, spellings)
        top = max(page.values(), default=1.0)
        for term, value in page.items():
            strength[term] += value / top  # type: ignore[assignment]  # Counter is typed for whole numbers only
    best = strength.most_common(limit)
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
    document: Document, template: frozenset[str], spellings: defaultdict[str, Counter[str]]
) -> dict[str, float]:
    """How strongly each term speaks on one page; notes in `spellings` how its words are written."""
    page: defaultdict[str, float] = defaultdict(float)
    text = "\n".join(line for line in document.text[:MAX_TEXT].split("\n") if line not in template)
    parts = [Counter(split_words(normalise(part))) for part in (document.title, document.headings, text)]
    about = _about(parts[0], parts[2])
    for words, boost in zip(parts, (TITLE, HEADINGS, TEXT), strict=True):
        counts: Counter[str] = Counter()
        for word, count in words.items():
            term = _term(word)
            if term and (term not in _web_terms() or term in about):
                counts[term] += count
                spellings[term][word] += count
        for term, count in counts.items():
            page[term] += boost * log1p(count)
    return page


def _about(title: Counter[str], text: Counter[str]) -> frozenset[str]:
    """The terms of the title that the text keeps to: a page that is called "Indexes" may be about them."""
    terms = {term for word in title if (term := _term(word))}
    counts: Counter[str] = Counter()
    for word, count in text.items() if terms else ():
        counts[_term(word)] += count
    return frozenset(term for term in terms if counts[term] >= MENTIONS)


def _template(documents: Sequence[Document]) -> frozenset[str]:
    """The lines of text that stand on more than one page."""
    pages = Counter(line for document in documents for line in set(document.text[:MAX_TEXT].split("\n")))
    return frozenset(line for line, count in pages.items() if count > 1)


@lru_cache(maxsize=50_000)
def _term(word: str) -> str:
    """The term of a normalised word, "" for a function word, a number or a single character."""
    telling = len(word) > 1 and not word[0].isdigit() and word not in stop_words()
    return Tokenizer().canonical(word) if telling else ""


@cache
def _web_terms() -> frozenset[str]:
    return frozenset(map(Tokenizer().canonical, read_words("webwords.txt")))
