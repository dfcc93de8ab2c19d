"""Formulas: LaTeX to MathML when the page is written, so that a browser shows it without a network.

What `latex2mathml` makes is not put on the page as it is: it lets text of a formula become tags, and addresses and
styles become attributes. Its tree is copied, element by element, with what MathML needs and nothing else.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup, escape

from lemmata.lab.mathematics import improve
from lemmata.lab.page.numbers import in_words

PARTS = {
    "mfrac": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3, "mroot": 2,
}  # fmt: skip
"""Elements that need just so many parts."""
ALLOWED = {
    *PARTS, "math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "msqrt", "mtable", "mtr", "mtd", "mstyle", "mpadded",
    "mphantom", "menclose",
}  # fmt: skip
ATTRIBUTES = {
    "accent", "accentunder", "columnalign", "columnlines", "columnspacing", "depth", "display", "displaystyle", "fence",
    "form", "height", "largeop", "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits",
    "rowspacing", "rspace", "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width",
}  # fmt: skip
VALUE = re.compile(r"[\w .%+-]*")
DEPTH = 60
"""Formulas are not nested deeper."""


class NoFormula(ValueError):
    """This is not LaTeX that can be shown."""


@dataclass(frozen=True)
class Formula:
    """A formula as MathML, whole and in lines, with the symbols in it, as settings spell them: η, α_*, M_1."""

    whole: str
    lines: str
    symbols: frozenset[str]


@functools.lru_cache(maxsize=4096)
def convert(latex: str) -> Formula:
    """The formula; raises `NoFormula` with the reason where it is not LaTeX or cannot be converted."""
    from latex2mathml.converter import convert_to_element

    if not latex.isascii() and "\\" not in latex:
        raise NoFormula("it is text with symbols, not LaTeX")
    if latex.count("{") - latex.count(r"\{") != latex.count("}") - latex.count(r"\}"):
        raise NoFormula("its braces do not match")
    try:
        tree = _copy(convert_to_element(latex))
    except NoFormula:
        raise
    except Exception as error:  # whatever the converter stumbles over
        raise NoFormula(f"{type(error).__name__}: {error}") from None
    symbols = frozenset(_symbols(tree))
    improve(tree)
    whole = tostring(tree, encoding="unicode")
    return Formula(whole, "<wbr>".join(tostring(part, encoding="unicode") for part in _lines(tree)), symbols)


def show(formula: str, whole: bool = False) -> Markup:
    """The formula for the page: MathML, in lines or whole, or the text itself where it cannot be converted."""
    if not formula.strip():
        return Markup("")
    try:
        found = convert(formula)
    except NoFormula:
        return Markup("<code>{}</code>").format(formula)
    return Markup(found.whole if whole else found.lines)


def symbols_of(formula: str) -> frozenset[str]:
    """The symbols that stand in a formula; none where it cannot be converted."""
    try:
        return convert(formula).symbols if formula else frozenset()
    except NoFormula:
        return frozenset()


def _copy(given: Element, depth: int = 0) -> Element:
    if given.tag not in ALLOWED:
        raise NoFormula(f"<{given.tag}> is not shown")
    if depth > DEPTH:
        raise NoFormula("it is nested too deeply")
    if len(given) != PARTS.get(given.tag, len(given)):
        raise NoFormula(f"a part of its {given.tag} is missing")
    kept = {k: v for k, v in given.attrib.items() if k in ATTRIBUTES and k != "display" and VALUE.fullmatch(v)}
    element = Element(given.tag, kept)
    element.text = html.unescape(given.text or "")
    if element.text.startswith("\\") and len(element.text) > 1:
        raise NoFormula(f"{element.text} is unknown")
    element.extend(_copy(child, depth + 1) for child in given)
    return element


RELATIONS = frozenset("=≠<>≤≥≲≳≪≫∝≈≃∼≍→↔⇒⇔∈∉⊂⊆+−±")
"""Before these a long formula may go on in the next line, where they stand outside of brackets."""
ROOM, SHORT = 20, 2
"""Signs: a longer line may also be broken inside of brackets; no line ends behind fewer, such as "x" of "x = 1"."""


def _lines(tree: Element) -> list[Element]:
    """The formula in pieces between which a line may end: browsers do not break lines inside of MathML."""
    pieces = []
    for terms in _broken(list(tree[0]) if len(tree) == 1 and tree[0].tag == "mrow" else list(tree), 0):
        piece = Element("math")
        piece.extend(terms)
        pieces.append(piece)
    return pieces


def _broken(terms: list[Element], within: int) -> Iterator[list[Element]]:
    """Terms in lines, broken where they are within so many brackets; too long a line is broken within one more."""
    lines, depth = [[]], 0
    for term in terms:
        sign = _bracket(term)
        if depth <= within and term.tag == "mo" and sign in RELATIONS and sum(map(_length, lines[-1])) > SHORT:
            term.set("form", "infix")
            lines.append([])
        lines[-1].append(term)
        depth += (sign in OPENING) - (sign in CLOSING)
        if depth <= within and (sign in set(",;") or term.get("width", "") in ("1em", "2em")):
            lines.append([])
    for line in filter(None, lines):
        nested = any(_bracket(term) in OPENING for term in line)
        yield from _broken(line, within + 1) if nested and within < 2 and sum(map(_length, line)) > ROOM else [line]


OPENING, CLOSING = frozenset("([{⌈⌊⟨"), frozenset(")]}⌉⌋⟩")


def _bracket(term: Element) -> str:
    """The sign of an operator, also of one that carries an exponent, as the last bracket of (1 - x)^t does."""
    if term.tag in ("msup", "msub", "msubsup"):
        return _bracket(term[0])
    return (term.text or "") if term.tag == "mo" else ""


def _length(element: Element) -> float:
    """About how many signs wide a part is."""
    if len(element) == 0:
        return len(element.text or "")
    parts = [_length(part) for part in element]
    if element.tag == "mfrac":
        return 0.8 * max(parts)
    if element.tag in ("msup", "msub", "msubsup"):
        return parts[0] + 0.7 * max(parts[1:])
    return sum(parts)


def _symbols(element: Element) -> Iterator[str]:
    """Letters alone and letters with an index; an index is no symbol of its own."""
    if element.tag in ("msub", "msubsup"):
        yield f"{_text(element[0])}_{_text(element[1])}"
        if element.tag == "msubsup":
            yield from _symbols(element[2])
        return
    if element.tag == "mi":
        yield element.text or ""
    for child in element:
        yield from _symbols(child)


def _text(element: Element) -> str:
    return "".join(element.itertext())


INDEXED = re.compile(
    r"((?:(?<![\w\\])[^\W\d_]|(?<=[ᵀ⁰¹²³⁴-⁹])[^\W\d_]|[α-ωΑ-Ω‖])['′²]?)"
    r"_(\{[^{}]{1,12}\}|[*#+⋆]|\d{1,3}|[^\W\d_]{1,3})(?![^\W⁰¹²³⁴-⁹])"
    r"|(?<=[\w)\]*'′‖])\^(\{[^{}]{1,24}\}|\([^()]{1,16}\)|[-−+]?[\w./*]{1,6})"
)
"""A letter with its index, or an exponent."""


def prose(text: str) -> Markup:
    """A sentence with its indices and exponents set as such: α_*^-2 and T_0 of plain text become what a reader expects.

    Only single letters carry indices, so that names of fields stay names.
    """
    text = in_words(text)
    parts, at = [], 0
    for found in INDEXED.finditer(text):
        parts += [escape(text[at : found.start()]), raised_or_lowered(found)]
        at = found.end()
    return Markup("").join([*parts, escape(text[at:])])


def raised_or_lowered(found: re.Match[str]) -> Markup:
    """What `INDEXED` has found, set as an index or an exponent."""
    letter, index, power = found.groups()
    if power is None:
        return Markup("{}<sub>{}</sub>").format(letter, index.strip("{}"))
    raised = power.strip("{}").replace("-", "−")
    if power[0] == "(" and not re.fullmatch(r"\(\w+\)", power):  # V^(2) is no square
        raised = raised[1:-1]
    return Markup("<sup>{}</sup>").format(prose(raised.rstrip("."))) + ("." if raised.endswith(".") else "")
