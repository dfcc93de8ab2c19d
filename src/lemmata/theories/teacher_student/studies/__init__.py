"""Further simulations of the same setting: `proof` (every step against the lemmas), `escape` (rates before T*)."""
