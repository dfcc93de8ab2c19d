"""The card of in-context learning: plain data, standard library only."""

CARD = {
    "name": "icl",
    "title": "How Do Nonlinear Transformers Learn and Generalize in In-Context Learning?",
    "authors": "H. Li, M. Wang, S. Lu, X. Cui, P.-Y. Chen",
    "venue": "ICML 2024",
    "link": "https://arxiv.org/abs/2402.15607",
    "numbers": "Numbers refer to Chapter 6 and Appendix E of H. Li's thesis (2024), which contains the paper.",
    "question": (
        "Can a one-layer transformer, trained by plain SGD on prompts of a few tasks, solve unseen tasks in context, "
        "also on shifted patterns, and what does pruning do to it?"
    ),
    "answer": (
        "Yes: training on M_1 well-chosen of the M_1(M_1-1) tasks suffices; attention concentrates on the context "
        "examples that hold the query's pattern and the neurons carry the label; pruning small neurons is harmless. "
        "The printed exponents of the iteration count, the partner entries of attention, the persistence of lucky "
        "neurons and the hinge loss out of domain do not hold as stated."
    ),
    "headlines": ["p2-iterations-beta", "p2-iterations-beta-corrected", "f65a-harmless"],
}
