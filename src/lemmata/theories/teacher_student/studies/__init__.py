"""Further simulations of the setting: `proof` (all steps against the lemmas), `escape` (rates before T*), `native`."""
