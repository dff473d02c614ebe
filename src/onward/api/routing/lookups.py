"""Finding what a path names, or answering 404."""

from onward.errors import NotThereError
from onward.kernel.records import RunRecord
from onward.runtime.backend import Backend


async def known_run(backend: Backend, execution_id: str) -> RunRecord:
    """Return a run that must exist."""
    run = await backend.archive.run(execution_id)
    if run is None:
        raise NotThereError(f"there is no run called {execution_id}")
    return run
