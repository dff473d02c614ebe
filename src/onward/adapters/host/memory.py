"""The memory of this process."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident_mb() -> int:
    """Return the resident memory of this process; where it is not known, the most it ever had."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most // (1024 * 1024 if sys.platform == "darwin" else 1024)
    return pages * os.sysconf("SC_PAGE_SIZE") // (1024 * 1024)
