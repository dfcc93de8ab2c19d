"""`python -m lemmata`."""

from lemmata.cli import main

main()
