"""The card of the graph transformer: plain data, standard library only."""

CARD = {
    "name": "graph_transformer",
    "title": "What Improves the Generalization of Graph Transformers? A Theoretical Dive into the Self-attention and "
    "Positional Encoding",
    "authors": "H. Li, M. Wang, T. Ma, S. Liu, Z. Zhang, P.-Y. Chen",
    "venue": "ICML 2024",
    "link": "https://arxiv.org/abs/2406.01977",
    "numbers": "Numbers refer to Chapter 3 and Appendix B of H. Li's thesis (2024), which contains the paper.",
    "question": (
        "When does a one-layer graph transformer trained by SGD generalise to unlabelled nodes, and what do "
        "self-attention and a learned distance encoding contribute?"
    ),
    "answer": (
        "Where the nodes at a core distance decide the label, attention concentrates on class-relevant nodes and the "
        "encoding becomes largest at the core distance, so that learning it is as good as knowing it; a GCN needs more "
        "iterations when few nodes are discriminative. The printed exponents of iterations and samples, the attention "
        "limit at margin 1, the printed graph and the printed initial weights do not hold as stated."
    ),
    "diagnose": {"graph": "diagnose:diagnose"},
    "headlines": ["p9-core-g1", "p10-no-pe-g1", "e5-literal-graph"],
}
