# What `weft` exports, for type checkers: the module itself loads it only when it is used.

from weft.api.client import ApiError as ApiError
from weft.api.client import AsyncEngine as AsyncEngine
from weft.api.client import AsyncRun as AsyncRun
from weft.api.client import ConflictError as ConflictError
from weft.api.client import DeniedError as DeniedError
from weft.api.client import Engine as Engine
from weft.api.client import InvalidError as InvalidError
from weft.api.client import MissingError as MissingError
from weft.api.client import Run as Run
from weft.api.client import RunFailedError as RunFailedError
from weft.api.client import UnreachableError as UnreachableError
from weft.errors import DefinitionError as DefinitionError
from weft.errors import InputError as InputError
from weft.errors import StorageError as StorageError
from weft.errors import WeftError as WeftError

__version__: str
