"""The card of chain-of-thought inference: plain data, standard library only."""

CARD = {
    "name": "cot",
    "title": "Training Nonlinear Transformers for Chain-of-Thought Inference: A Theoretical Generalization Analysis",
    "authors": "H. Li, M. Wang, S. Lu, X. Cui, P.-Y. Chen",
    "venue": "arXiv preprint, 2024",
    "link": "https://arxiv.org/abs/2410.02167",
    "numbers": "Numbers refer to Chapter 7 and Appendix F of H. Li's thesis (2024), which contains the paper.",
    "question": (
        "Why does a transformer trained on prompts of multi-step examples generalise through chain of thought to new "
        "tasks, shifted patterns and partly wrong examples, and when does it beat plain in-context learning?"
    ),
    "answer": (
        "Training teaches attention the step first and the pattern then, so that chain of thought takes a plurality "
        "vote per step; in-context learning votes on the composed steps only and fails wherever the most probable "
        "end-to-end output is wrong, however many examples there are. As printed two statements do not hold: the "
        "gradient bound of the second stage, and Theorem 4 for testing patterns along the mean of all training ones."
    ),
    "diagnose": {"chain": "diagnose:diagnose"},
    "headlines": ["c8-clear", "c5-same-same", "c5-same-same-corrected"],
}
