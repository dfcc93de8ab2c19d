"""Out of distribution (Theorem 3.2, T4 to T7): the exact student on other inputs and other responses."""
