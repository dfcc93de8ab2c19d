"""The extensions on the same setting (P21): absolute encodings, GAT."""

from __future__ import annotations

import xarray as xr

import lemmata as lm
from lemmata.theories.graph_transformer.measures import value_at


@lm.evidence("p21-absolute")
def held_out_accuracy(data: xr.Dataset, variant: str) -> xr.DataArray:
    """Accuracy of other nodes of structures that were never labelled, at the end of training."""
    return lm.at_end(lm.cells(data, variant=variant).other_accuracy)


gat_at = value_at.of("p21-gat")
ZERO_MARGIN = lm.Control("++--++--", variant="++--++--, dot")

CLAIMS = (
    lm.Claim("p21-laplacian", "B.5.2", "comparison")
    .states("""Where clusters decide the label, Laplacian eigenvectors in keys and queries carry it to clusters that
        were never labelled: accuracy of other nodes at least .8.""")
    .in_symbols(r"\mathrm{acc}_{\text{other}} \ge 0.8")
    .judged(
        held_out_accuracy("with PE"),
        lm.at_least(0.8, "clear"),
        lm.Control("patterns permuted", variant="patterns permuted"),
    ),
    lm.Claim("p21-laplacian-zeroed", "B.5.2", "comparison", source="derived")
    .states("""Without Laplacian eigenvectors (columns zeroed) the accuracy of other nodes in clusters that were never
        labelled is at most .6.""")
    .in_symbols(r"\mathrm{acc}_{\text{other}} \le 0.6")
    .judged(
        held_out_accuracy("PE zeroed"), lm.at_most(0.6, "clear"), lm.Control("with the encoding", variant="with PE")
    ),
    lm.Claim("p21-gat-near", "B.5.3", "comparison")
    .states("""Where the core distance is 1 a graph attention network suffices: loss below .05 at η t = 30 on the
        chapter's graph.""")
    .in_symbols(r"\ell_{\text{GAT}}(\eta t=30) < 0.05")
    .judged(gat_at("loss", 30, "G1, dot"), lm.at_most(0.05, "clear", strict=True), ZERO_MARGIN),
    lm.Claim("p21-gat-zero-margin", "B.5.3", "limit", source="derived")
    .states("""Where the margin at distance 1 is zero (++--++--) the loss of a graph attention network on other nodes
        stays at .9 or more.""")
    .in_symbols(r"\Delta_n(1) = 0: \quad \ell_{\text{GAT, other}} \ge 0.9")
    .judged(
        gat_at("other_loss", 40, "++--++--, dot"),
        lm.at_least(0.9, "clear"),
        lm.Control("restricted to distance 4", variant="++--++--, z=4"),
    ),
    lm.Claim("p21-gat-opposite", "B.5.3", "comparison", source="derived")
    .states("""Where the margin at distance 1 is negative everywhere (+-+-) a graph attention network learns the
        opposite sign: accuracy at least .95.""")
    .in_symbols(r"\Delta_n(1) < 0: \quad \mathrm{acc}_{\text{GAT}} \ge 0.95")
    .judged(gat_at("accuracy", 40, "+-+-, dot"), lm.at_least(0.95, "clear"), ZERO_MARGIN),
)
