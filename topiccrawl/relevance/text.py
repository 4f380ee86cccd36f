"""From text to terms: mixed Chinese and English, and the topic's own phrases uncut.

    text     what html.py read, any case and width      phrase   a topic word as the user wrote it, may hold spaces
    word     a run of letters and digits, normalised    stem     a word without its English ending
    term     what is counted: a stem, a Chinese word as rjieba cuts it, or a whole phrase of the topic

A phrase made of words alone ("machine learning") is found by its stems, so that "machines learn" counts; any other one
("C++", "A/B测试", "容器") is found in the normalised text as it stands, by `_Literals`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib import resources

import rjieba
import snowballstemmer

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Letters other than Han: ranges instead of \w, which would glue "Docker" to the Chinese word behind it. A few marks of
# scripts that are nobody's topic here (Arabic comma, danda) are inside; combining marks must be.
LETTER = "a-z\u00b5\u00df-\u00f6\u00f8-\u036f\u0370-\u1fff\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\uac00-\ud7a3"
STEM_CACHE = 200_000
"""Words whose stem is remembered, per Tokenizer: about 20 MB when full."""

MAX_PATTERNS = 1000
"""Compiled regular expressions that are remembered, one for each set of phrases that a text may hold."""

_ASCII_WORD = r"[0-9]+(?:[.,][0-9]+)+(?![0-9a-z])|[0-9a-z]+(?:'[a-z]+|\+\+|#(?![0-9a-z]))?"
_WORD = rf"[0-9]+(?:[.,][0-9]+)+(?![0-9{LETTER}])|[0-9{LETTER}]+(?:'[{LETTER}]+|\+\+|#(?![0-9{LETTER}]))?"
_find_ascii = re.compile(_ASCII_WORD).findall
_find_words = re.compile(rf"[{HAN}]+|{_WORD}").findall
_HAN_CHAR = re.compile(f"[{HAN}]")
_only_words = re.compile(f"[0-9{LETTER}' ]+").fullmatch

_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
# NFKC would turn "Docker\u2122" into "Dockertm", and leaves the look-alikes of hyphen, middle dot and apostrophe apart.
_LOOKALIKE = str.maketrans(
    {"\u2122": " ", "\u2120": " ", "\u2010": "-", "\u2011": "-", "\u2019": "'", "\u02bc": "'"}
    | dict.fromkeys("\u2022\u2027\u22c5\u30fb\uff65", "\u00b7")
)
_lookalike = re.compile("[" + "".join(map(chr, _LOOKALIKE)) + "]").search


def normalise(text: str) -> str:
    """The text as it is compared: NFKC, case folded, without invisible characters, white space folded to one space.

    For matching only; stored text stays as it was. Traditional and Simplified Chinese are not made one: the tables for
    it (OpenCC) work by phrase and would be a dependency of their own, so a topic lists both spellings if it wants both.
    """
    text = _unify(text) if not text.isascii() else text.lower()
    return " ".join(text.split())


def _unify(text: str) -> str:
    text = _INVISIBLE.sub("", text)
    if _lookalike(text):
        text = text.translate(_LOOKALIKE)
    text = unicodedata.normalize("NFKC", text).casefold()
    # Case folding can undo composition (U+0390 and its kin), and NFKC must hold for what is compared.
    return unicodedata.normalize("NFKC", text)


def _normal_parts(text: str) -> Iterable[str]:
    """The lines of a text, normalised but for their white space: those in plain ASCII, then the others."""
    if text.isascii():
        return (text.lower(),)
    plain: list[str] = []
    other: list[str] = []
    for line in text.split("\n"):
        (plain if line.isascii() else other).append(line)
    return "\n".join(plain).lower(), _unify("\n".join(other))


def read_words(name: str) -> frozenset[str]:
    """The words of a list in topiccrawl/data: one a line, `#` starts a comment line."""
    lines = resources.files("topiccrawl").joinpath("data", name).read_text("utf-8").splitlines()
    return frozenset(normalise(line) for line in lines if line.strip() and not line.startswith("#"))


@cache
def stop_words() -> frozenset[str]:
    """English and Chinese function words."""
    return read_words("stopwords_en.txt") | read_words("stopwords_zh.txt")


def split_words(text: str) -> list[str]:
    """The words of normalised text as they stand there, stop words too; Chinese as rjieba cuts it."""
    if text.isascii():
        return _find_ascii(text)
    words: list[str] = []
    for word in _find_words(text):
        if word[0] >= "\u3005" and _is_han(word[0]):
            words += rjieba.cut(word)
        else:
            words.append(word)
    return words


class _Stems(dict[str, str]):
    """word -> stem, filled on demand. A stop word keeps its place as `STOP` + word until phrases are found."""

    STOP = "\0"

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self._stem = snowballstemmer.stemmer("english").stemWord
        self._stop = stop_words() - frozenset(kept)

    def __missing__(self, word: str) -> str:
        if len(self) >= STEM_CACHE:
            self.clear()
        stem = self.STOP + word if word in self._stop else self._stem(word)
        self[word] = stem
        return stem


class Tokenizer:
    """Cuts texts into terms, keeping each of the given phrases as one term. Not to be shared between threads."""

    def __init__(self, phrases: Iterable[str] = ()) -> None:
        """`phrases` are topic words as the user wrote them; empty ones are left out."""
        known = dict.fromkeys(filter(None, map(normalise, phrases)))
        self._stems = _Stems(kept=known)
        runs = [phrase for phrase in known if _is_run(phrase)]
        self._literal = _Literals(phrase for phrase in known if not _is_run(phrase))
        self._sequences: dict[str, list[list[str]]] = {}
        self._terms = frozenset(map(self.canonical, runs))
        self._beginnings: list[str] = sorted({max(map(_beginning, self._words(run)), key=len) for run in runs})
        for phrase in runs:
            stems = self._words(phrase)
            if len(stems) > 1:
                self._sequences.setdefault(stems[0], []).append(stems)
        for group in self._sequences.values():
            group.sort(key=len, reverse=True)

    def terms(self, text: str) -> list[str]:
        """The terms of the text in its order, stop words left out; each phrase counts once, the longest one wins."""
        text = normalise(text)
        if self._literal:
            terms: list[str] = []
            for piece, phrase in self._literal.split(text):
                terms += self._words(piece)
                if phrase:
                    terms.append(phrase)
        else:
            terms = self._words(text)
        if self._sequences:
            terms = self._join_sequences(terms)
        return [term for term in terms if term[0] != _Stems.STOP]

    def find(self, text: str) -> Counter[str]:
        """How often each phrase, by its term, stands in a text of lines.

        As `terms` would find them line by line, but only lines that hold the beginning of a phrase's word are cut into
        words: on most pages these are few, or none.
        """
        counts: Counter[str] = Counter()
        for part in _normal_parts(text):
            if self._literal:
                part = self._literal.cut_out(part, counts)
            for line in _lines_with(part, self._beginnings):
                words = _find_ascii(line) if line.isascii() else map(_without_han, _find_words(line))
                terms = list(map(self._stems.__getitem__, words))
                counts.update(filter(self._terms.__contains__, self._join_sequences(terms)))
        return counts

    def canonical(self, phrase: str) -> str:
        """The term that `terms` counts for this topic word: stems joined by a space, or the normalised phrase."""
        text = normalise(phrase)
        return " ".join(self._words(text)).replace(_Stems.STOP, "") if _is_run(text) else text

    def _words(self, text: str) -> list[str]:
        """The stems of normalised text, stop words still in their place."""
        return list(map(self._stems.__getitem__, split_words(text)))

    def _join_sequences(self, terms: list[str]) -> list[str]:
        """Each run of stems that is a phrase becomes one term."""
        starts = sorted(i for first in self._sequences for i in _positions(terms, first))
        joined: list[str] = []
        done = 0
        for start in starts:
            if start < done:
                continue
            for stems in self._sequences[terms[start]]:
                if terms[start : start + len(stems)] == stems:
                    joined += terms[done:start]
                    joined.append(" ".join(stems).replace(_Stems.STOP, ""))
                    done = start + len(stems)
                    break
        return joined + terms[done:] if done else terms


class _Literals:
    """Phrases that are looked for in the normalised text as they stand, the longest first.

    A search for each phrase's needle, a part that every match must hold, tells at C speed which phrases can occur; only
    for these a regular expression is run.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = sorted(phrases, key=len, reverse=True)
        self._needles = list(map(_needle, self._phrases))
        self._patterns: dict[tuple[int, ...], re.Pattern[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._phrases)

    def split(self, text: str) -> Iterable[tuple[str, str]]:
        """The text cut at the phrases: (text before, phrase), at last (rest, "")."""
        done = 0
        possible = self._possible(text)
        for match in self._pattern(possible).finditer(text) if possible else ():
            yield text[done : match.start()], self._phrases[possible[(match.lastindex or 1) - 1]]
            done = match.end()
        yield text[done:], ""

    def cut_out(self, text: str, counts: Counter[str]) -> str:
        """The text without the phrases, which are counted."""
        possible = self._possible(text)
        if not possible:
            return text

        def count(match: re.Match[str]) -> str:
            counts[self._phrases[possible[(match.lastindex or 1) - 1]]] += 1
            return "\n"

        return self._pattern(possible).sub(count, text)

    def _possible(self, text: str) -> tuple[int, ...]:
        return tuple(i for i, needle in enumerate(self._needles) if needle in text)

    def _pattern(self, possible: tuple[int, ...]) -> re.Pattern[str]:
        pattern = self._patterns.get(possible)
        if pattern is None:
            if len(self._patterns) >= MAX_PATTERNS:
                self._patterns.clear()
            parts = (f"({_pattern(self._phrases[i])})" for i in possible)
            pattern = self._patterns[possible] = re.compile("|".join(parts))
        return pattern


def _needle(phrase: str) -> str:
    """The longest part of a literal phrase that its pattern holds unchanged: no free white space inside."""
    parts: list[str] = re.findall(f"[{HAN}]+|[^ {HAN}]+", phrase)
    return max(parts, key=len)


def _is_han(char: str) -> bool:
    return _HAN_CHAR.match(char) is not None


def _is_run(phrase: str) -> bool:
    """True for words of letters and digits alone, which are found by their stems."""
    return _only_words(phrase) is not None and " ".join(_find_words(phrase)) == phrase


def _pattern(phrase: str) -> str:
    """The regular expression of a literal phrase.

    An ASCII letter or digit at either end needs a word boundary there, as has a leading dot (".NET" is not in
    "example.net"); an English word at the end may be a plural. A space between Chinese and Latin, or before a number,
    is a matter of taste, so it may be there or not.
    """
    first = phrase[0]
    # The look-behind stands after the first character, so that re can skip to that character at C speed.
    before = f"(?<![0-9a-z]{re.escape(first)})" if _edge(first) or first == "." else ""
    after = "(?![0-9a-z])" if _edge(phrase[-1]) else ""
    plural = "(?:e?s)?" if phrase[-2:].isascii() and phrase[-2:].isalpha() else ""
    rest = "".join(_inside(phrase, at) for at in range(1, len(phrase)))
    return re.escape(first) + before + rest + plural + after


def _edge(char: str) -> bool:
    """True for an ASCII letter or digit."""
    return char.isascii() and char.isalnum()


def _inside(phrase: str, at: int) -> str:
    """The pattern of the character at `at`; its neighbours decide whether white space is free there."""
    left, char, right = phrase[at - 1], phrase[at], phrase[at + 1 : at + 2]
    if char == " ":
        return " ?" if right.isdigit() or _is_han(left) or _is_han(right) else " "
    free = char.isalnum() and left.isalnum() and _is_han(char) != _is_han(left)
    return (" ?" if free else "") + re.escape(char)


def _beginning(stem: str) -> str:
    """What every word with this stem begins with.

    The stemmer cuts endings off, but for four kinds, in which the stem's last letter is none of the word's: cry, cries
    (cri), hoping (hope), usability (usabl), skies (sky). In dying, lying and tying (die ...) two letters are.
    """
    stem = stem.removeprefix(_Stems.STOP)
    if len(stem) == 3 and stem.endswith("ie"):
        return stem[0]
    return stem[:-1] if len(stem) > 1 and stem.endswith(("i", "e", "y", "bl")) else stem


def _lines_with(text: str, needles: Iterable[str]) -> list[str]:
    """The lines that hold one of the needles, found by str.find at C speed."""
    starts: dict[int, int] = {}
    for needle in needles:
        at = text.find(needle)
        while at >= 0:
            end = text.find("\n", at)
            starts[text.rfind("\n", 0, at) + 1] = end if end >= 0 else len(text)
            if end < 0:
                break
            at = text.find(needle, end)
    return [text[start:end] for start, end in starts.items()]


def _without_han(word: str) -> str:
    return "" if _is_han(word[0]) else word


def _positions(terms: list[str], term: str) -> Iterable[int]:
    """Where the term stands, found by list.index at C speed."""
    at = -1
    try:
        while True:
            at = terms.index(term, at + 1)
            yield at
    except ValueError:
        return
