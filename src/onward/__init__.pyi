# What `onward` exports, for type checkers: the module itself loads it only when it is used.

from onward.api.client import ApiError as ApiError
from onward.api.client import AsyncEngine as AsyncEngine
from onward.api.client import AsyncRun as AsyncRun
from onward.api.client import ConflictError as ConflictError
from onward.api.client import DeniedError as DeniedError
from onward.api.client import Engine as Engine
from onward.api.client import InvalidError as InvalidError
from onward.api.client import MissingError as MissingError
from onward.api.client import Run as Run
from onward.api.client import RunFailedError as RunFailedError
from onward.api.client import UnreachableError as UnreachableError
from onward.errors import DefinitionError as DefinitionError
from onward.errors import InputError as InputError
from onward.errors import OnwardError as OnwardError
from onward.errors import StorageError as StorageError

__version__: str
