# What `onward` exports, for type checkers: the module itself loads it only when it is used.

from onward.client import ApiError as ApiError
from onward.client import AsyncEngine as AsyncEngine
from onward.client import AsyncRun as AsyncRun
from onward.client import ConflictError as ConflictError
from onward.client import DeniedError as DeniedError
from onward.client import Engine as Engine
from onward.client import InvalidError as InvalidError
from onward.client import MissingError as MissingError
from onward.client import Run as Run
from onward.client import RunFailedError as RunFailedError
from onward.client import UnreachableError as UnreachableError
from onward.errors import DefinitionError as DefinitionError
from onward.errors import InputError as InputError
from onward.errors import OnwardError as OnwardError
from onward.errors import StorageError as StorageError

__version__: str
