"""The card of the shallow vision transformer: plain data, standard library only."""

CARD = {
    "name": "vit",
    "title": (
        "A Theoretical Understanding of Shallow Vision Transformers: Learning, Generalization, and Sample Complexity"
    ),
    "authors": "H. Li, M. Wang, S. Liu, P.-Y. Chen",
    "venue": "ICLR 2023",
    "link": "https://arxiv.org/abs/2302.06015",
    "numbers": "Numbers refer to Chapter 2 and Appendix A of H. Li's thesis (2024), which contains the paper.",
    "question": "When does a transformer trained by plain SGD generalise, and what does self-attention contribute?",
    "answer": (
        "One softmax attention head and a ReLU perceptron, trained with hinge loss on tokens of which two patterns "
        "vote on the label, reach zero population risk once the samples outnumber α_*^-2; with attention frozen the "
        "sufficient number is larger by another α_*^-2; attention concentrates on the label-relevant tokens."
    ),
    "headlines": ["v3-iterations-eta", "v3-iterations-eta-corrected", "v4-iterations-order"],
}
