"""The claims of the register, by topic."""

from lemmata.theories.icl.claims import (
    attention,
    baselines,
    contexts,
    iterations,
    neurons,
    pruning,
    shift,
    tasks,
    variants,
)

TOPICS = (tasks, iterations, contexts, shift, attention, neurons, pruning, variants, baselines)
CLAIMS = tuple(claim for topic in TOPICS for claim in topic.CLAIMS)
