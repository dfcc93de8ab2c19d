"""In-context learning by a nonlinear transformer."""

from lemmata.lab.theory import Theory
from lemmata.theories.icl.card import CARD
from lemmata.theories.icl.claims import CLAIMS
from lemmata.theories.icl.experiments import EXPERIMENTS
from lemmata.theories.icl.setting import Setting
from lemmata.theories.icl.training import simulate

theory = Theory({**CARD, "headlines": []}, Setting, simulate, EXPERIMENTS, CLAIMS, (), source=__path__[0])

__all__ = ["Setting", "simulate", "theory"]
