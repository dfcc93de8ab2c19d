"""Imported by Python when a worker starts: its disk fails as the tests order."""

import os
import sys
from pathlib import Path

if "LEMMATA_TEST_ORDERS" in os.environ:
    here = str(Path(__file__).parent.parent)
    sys.path.insert(0, here)
    try:
        from disk import FarDisk
    finally:
        sys.path.remove(here)
    FarDisk(Path(os.environ["LEMMATA_TEST_ORDERS"]))
