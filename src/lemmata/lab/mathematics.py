"""Formulas. A claim's formula is LaTeX without $ signs: as Unicode text for a terminal, and how MathML looks best."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple
from xml.etree.ElementTree import Element

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)

FUNCTIONS = ("log", "ln", "exp", "sin", "cos", "sinh", "cosh", "arctan")
SIGNS = {
    "relation": {
        "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "lt": "<", "gt": ">", "approx": "≈",
        "simeq": "≃", "sim": "~", "propto": "∝", "equiv": "≡", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆",
        "to": "→", "mapsto": "↦", "ll": "≪", "gg": "≫", "lesssim": "≲", "gtrsim": "≳", "Rightarrow": "⇒",
        "Leftrightarrow": "⇔", "perp": "⊥", "parallel": "∥", "mid": "|", "preceq": "⪯", "succeq": "⪰", "succ": "≻",
        "searrow": "↘", "nearrow": "↗", "leftarrow": "←", "leftrightarrow": "↔", "uparrow": "↑", "downarrow": "↓",
    },
    "binary": {
        "cdot": "·", "times": "×", "pm": "±", "mp": "∓", "cup": "∪", "cap": "∩", "setminus": "∖", "wedge": "∧",
        "land": "∧", "lor": "∨", "vee": "∨", "circ": "∘", "odot": "⊙", "otimes": "⊗", "oplus": "⊕",
    },
    "open": {"langle": "⟨", "lfloor": "⌊", "lceil": "⌈", "lVert": "‖", "lvert": "|", "{": "{"},
    "close": {"rangle": "⟩", "rfloor": "⌋", "rceil": "⌉", "rVert": "‖", "rvert": "|", "}": "}"},
    "letter": {
        "infty": "∞", "partial": "∂", "nabla": "∇", "ell": "ℓ", "ldots": "…", "dots": "…", "cdots": "⋯", "top": "⊤",
        "forall": "∀", "exists": "∃", "|": "‖", "Vert": "‖", "vert": "|", "prime": "′", "sum": "Σ", "prod": "Π",
        "int": "∫", "ast": "*", "star": "⋆", "dagger": "†", "emptyset": "∅", "varepsilon": "ε", "epsilon": "ε",
        "varphi": "φ", "vartheta": "θ", "#": "#", "%": "%", "&": "&", "_": "_", "$": "$",
    },
    "word": {name: name for name in (*FUNCTIONS, "arg", "min", "max", "sup", "inf", "Pr")},
    "space": {",": " ", ";": " ", ":": " ", " ": " ", "quad": "  ", "qquad": "  ", "!": ""},
}  # fmt: skip
CHARACTERS = {
    "relation": "=<>≤≥≠≈∝∈→⇔⇒~",
    "binary": "+-·×",
    "open": "([",
    "close": ")]",
    "comma": ",;:",
}
ACCENTS = {
    "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "widetilde": "\u0303", "bar": "\u0304",
    "overline": "\u0304", "underline": "\u0332", "dot": "\u0307", "vec": "\u20d7",
}  # fmt: skip
FONTS = {"mathcal": "SCRIPT", "mathbb": "DOUBLE-STRUCK"}
UPRIGHT = ("text", "mathrm", "operatorname", "mathbf", "mathsf", "boldsymbol", "textbf")
SIZES = ("left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "displaystyle", "limits")
RAISED = dict(zip("0123456789+-=()niktsT⊤*′ ", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵏᵗˢᵀᵀ*′ ", strict=True))
LOWERED = dict(zip("0123456789+-=()aehijklmnoprstuvx ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ ", strict=True))


CLOSE = {"lspace": "0", "rspace": "0"}
OPERATORS = {"|": ("|", CLOSE), ":": (":", {"lspace": "0", "rspace": "0.25em"}), "⧵": ("∖", {}), "~": ("∼", {})}
"""What the converter takes for letters, or leaves to the browser's idea of spaces: bars, colons, set minus, law."""


SEVERAL = {"^": "[/_]", "_": "/"}
"""What makes one piece of a script look like two."""


WRITTEN = re.compile(r"[_^](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|[^\s()|‖⟨⟩]+)$")
"""A script that stands after its sign: what follows keeps its distance."""


class Atom(NamedTuple):
    """A piece of Unicode text and what it is: letter, word, relation, binary, open, close, comma, space or text."""

    text: str
    kind: str


def improve(element: Element) -> None:
    """MathML with signs as operators with their spaces, primes at full size, thin spaces around functions (2 log t)."""
    children = list(element)
    for place, child in enumerate(children):
        improve(child)
        if child.text in OPERATORS and child.get("fence") is None:
            child.tag, (child.text, spaces) = "mo", OPERATORS[child.text]
            child.attrib |= spaces
        elif child.tag in ("msup", "msubsup") and child[-1].text == "′":
            *base, prime = child
            prime.tag, prime.attrib = "mo", dict(CLOSE)
            if len(base) == 2:
                below = Element("msub")
                below.extend(base)
                base = [below]
            child.tag, child[:] = "mrow", [*base, prime]
        elif child.text in FUNCTIONS and element.tag in ("mrow", "math", "msqrt", "mtd"):
            for beside in (place - 1, place + 1):
                if 0 <= beside < len(children) and children[beside].tag not in ("mo", "mspace"):
                    element.insert(list(element).index(child) + (beside > place), Element("mspace", width="0.167em"))


def plain(latex: str) -> str:
    r"""The formula as one line of Unicode text for a terminal: α_*⁻² for \alpha_*^{-2}; text is left as it is."""
    if not re.search(r"[\\{]", latex):
        return latex
    return _joined(_Reader(latex).atoms()).strip()


class _Reader:
    """Reads LaTeX token by token; what it does not know it leaves as it stands."""

    def __init__(self, latex: str) -> None:
        self.tokens = TOKEN.findall(latex)[::-1]

    def atoms(self, closing: str = "") -> list[Atom]:
        """Up to this token, or to the end."""
        found: list[Atom] = []
        while self.tokens and self.tokens[-1] != closing:
            found += self.next(found)
        if self.tokens:
            self.tokens.pop()
        return found

    def next(self, before: list[Atom]) -> list[Atom]:
        token = self.tokens.pop()
        if token.isspace() or token[1:] in SIZES:
            return []
        if token == "{":
            return self.atoms("}")
        if token in "_^":
            base = before.pop() if before else Atom("", "letter")
            return [Atom(base.text + _script(token, self.argument()), base.kind)]
        if token == "'":
            base = before.pop() if before else Atom("", "letter")
            return [Atom(base.text + "′", base.kind)]
        if token.startswith("\\"):
            return self.command(token[1:])
        return [Atom("-" if token == "−" else token, _kind(token))]

    def argument(self) -> list[Atom]:
        while self.tokens and self.tokens[-1].isspace():
            self.tokens.pop()
        if self.tokens and self.tokens[-1][0].isdigit():  # without braces, LaTeX takes one digit
            number = self.tokens.pop()
            self.tokens += [number[1:], number[0]] if number[1:] else [number]
        return self.next([]) if self.tokens else []

    def words(self) -> str:
        """An argument taken literally."""
        self.argument_opens()
        taken = ""
        while self.tokens and (token := self.tokens.pop()) != "}":
            taken += token[1:] if token[0] == "\\" and not token[1:].isalpha() else token
        return taken

    def argument_opens(self) -> None:
        if self.tokens and self.tokens[-1] == "{":
            self.tokens.pop()

    def command(self, name: str) -> list[Atom]:
        for kind, signs in SIGNS.items():
            if name in signs:
                return [Atom(signs[name], kind)]
        if name in ("frac", "tfrac", "dfrac"):
            above, below = self.argument(), self.argument()
            return [Atom(f"{_bracketed(above, loose=True)}/{_bracketed(below)}", "fraction")]
        if name == "sqrt":
            return [Atom("√" + _bracketed(self.argument()), "letter")]
        if name in ACCENTS:
            inside = _joined(self.argument())
            return [Atom(unicodedata.normalize("NFC", inside[:1] + ACCENTS[name]) + inside[1:], "letter")]
        if name in FONTS:
            return [Atom("".join(_in_font(letter, FONTS[name]) for letter in self.words()), "letter")]
        if name in UPRIGHT:
            words = self.words()
            return [Atom(words, "text" if name == "text" else "name" if len(words) > 1 else "letter")]
        capital = "CAPITAL" if name[:1].isupper() else "SMALL"
        greek = "LAMDA" if name.lower() == "lambda" else name.upper()
        try:
            return [Atom(unicodedata.lookup(f"GREEK {capital} LETTER {greek}"), "letter")]
        except KeyError:
            return [Atom(f"\\{name}", "letter")]


def _kind(character: str) -> str:
    return next((kind for kind, characters in CHARACTERS.items() if character in characters), "letter")


def _in_font(letter: str, font: str) -> str:
    for name in (f"MATHEMATICAL {font} CAPITAL {letter}", f"{font} CAPITAL {letter}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return letter


def _script(sign: str, atoms: list[Atom]) -> str:
    """Raised or lowered, with Unicode's own characters where it has them all; words stay after _ or ^."""
    text, letters = _joined(atoms).strip(), RAISED if sign == "^" else LOWERED
    tight = re.sub(r" ?([^\w\s()]) ?", r"\1", text)
    if all(character in letters for character in tight) and not re.search("[a-z]{2}", tight):
        return "".join(letters[character] for character in tight)
    enclosed = (
        re.fullmatch(r"\([^()]*\)", tight)
        or (len(atoms) == 1 and not re.search(SEVERAL[sign], text))
        or (sign == "_" and tight.isalnum())
    )
    if any(atom.kind == "text" for atom in atoms):
        return sign + (text if enclosed else f"({text})")
    return sign + (tight if enclosed else f"({tight})")


def _bracketed(atoms: list[Atom], *, loose: bool = False) -> str:
    """In brackets unless it is one atom (`loose`: or a product)."""
    text = _joined(atoms).strip()
    kinds = {atom.kind for atom in atoms}
    single = len(atoms) <= 1 and "fraction" not in kinds
    enclosed = re.fullmatch(r"‖[^‖]*‖[²]?|\|[^|]*\||⟨[^⟩]*⟩", text)
    if (
        single
        or enclosed
        or (loose and "/" not in text and not kinds & {"relation", "binary", "fraction", "text", "word"})
    ):
        return text
    return f"({text})"


def _joined(atoms: list[Atom]) -> str:
    """With spaces around relations and two-sided operators, after commas, and where two names would run together."""
    text, before = "", "open"
    for piece, kind in atoms:
        if kind == "fraction" and before == "word":
            piece = f"({piece})"
        unary = kind == "binary" and before not in ("letter", "word", "name", "close", "fraction", "text")
        if kind == "relation" or (kind == "binary" and not unary):
            text = f"{text.rstrip()} {piece} "
        elif kind == "comma":
            text = f"{text.rstrip()}{piece} "
        elif kind == "space":
            text = text.rstrip() + piece
        else:
            apart = bool(text) and (text[-1].isalnum() or text[-1] in "*)′⟩#") and piece[:1].isalnum()
            apart_from = ("letter", "name", "close")
            named = before in ("word", "name", "fraction") or (
                kind in ("word", "name", "fraction") and before in apart_from
            )
            written = re.search(WRITTEN, text) is not None and before == "letter" and kind == "letter"
            text += f" {piece}" if apart and (named or written) else piece
        before = "open" if unary else kind
    return text
