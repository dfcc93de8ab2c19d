"""`python -m lemmata`."""

from lemmata.entry import main

main()
