"""Stars of formulas: in `α_*` or `V*XS*` a star is a star, not emphasis.

Repository hosts read a star inside a word so; Python-Markdown does not, so that stars which open and close no emphasis
are escaped before the site is built.
"""

from __future__ import annotations

import re

CODE = re.compile(r"^```.*?^```$|^(?: {4}|\t)[^\n]*$|`[^`\n]+`", flags=re.MULTILINE | re.DOTALL)
LINE = r"|\n(?!\s*\n)"
STRONG = rf"(?<![\w*\\_>])\*\*(?=[^\s*])(?P<strong>(?:[^*\n]|\*(?!\*){LINE})+?)(?<=\S)\*\*(?![\w*])"
WEAK = rf"(?<![\w*\\_>])\*(?=[^\s*])(?P<weak>(?:[^*\n]|(?<=\w)\*(?=\w){LINE})+?)(?<=[^\s*])\*(?![\w*])"
EMPHASIS = re.compile(f"{STRONG}|{WEAK}")


def literal(text: str) -> str:
    """The text with every star escaped that is no emphasis, outside code."""
    done, at = [], 0
    for code in re.finditer(CODE, text):
        done += [_escaped(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*done, _escaped(text[at:])])


def _escaped(text: str) -> str:
    done, at = [], 0
    for emphasis in re.finditer(EMPHASIS, text):
        sign, inside = ("**", emphasis["strong"]) if emphasis["strong"] else ("*", emphasis["weak"])
        done += [_stars(text[at : emphasis.start()]), sign, _escaped(inside), sign]
        at = emphasis.end()
    return "".join([*done, _stars(text[at:])])


def _stars(text: str) -> str:
    """Every star behind a letter, digit, underscore or index is one of a formula."""
    return re.sub(r"(?<=[\w'’)>])\*", r"\\*", text)
