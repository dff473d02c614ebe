"""The chaos suite lives beside the package, in `benchmarks`: make it importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
