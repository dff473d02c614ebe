"""The types of the API as pydantic knows them: what bodies are checked by, and the OpenAPI.

A view is declared once, as a struct; its model has the same name, docstring, fields and limits.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from pydantic import BaseModel, ConfigDict, Field, create_model

from onward.api import views

T = TypeVar("T")

_LIMITS = ("gt", "ge", "lt", "le", "min_length", "max_length", "pattern", "description")
_BODY = ConfigDict(extra="forbid", strict=True)


class Page(BaseModel, Generic[T]):
    """A part of a list; its name is that of the struct, for the OpenAPI has it."""

    items: list[T]
    next_cursor: str | None


def model_of(kind: Any) -> Any:
    """Return a type with every struct in it replaced by its model."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[(model_of(arguments[0]), *map(_field_of, arguments[1:]))]
    if origin is views.Page:
        return Page[model_of(arguments[0])]  # type: ignore[misc]  # it is a type, known only here
    if origin in {Union, UnionType}:
        union = reduce(or_, map(model_of, arguments))
        tags = {_tag_field(member) for member in arguments}
        return union if tags != {"kind"} else Annotated[union, Field(discriminator="kind")]
    if origin in {list, dict}:
        return origin[tuple(map(model_of, arguments))]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _model(kind)
    return kind


def _tag_field(kind: Any) -> str | None:
    config = getattr(kind, "__struct_config__", None)
    return config.tag_field if config is not None else None


def _field_of(meta: Any) -> Any:
    facts = {name: getattr(meta, name) for name in _LIMITS}
    if facts["pattern"]:  # the end of a text, as Python writes it and as JSON Schema does
        facts["pattern"] = facts["pattern"].replace(r"\Z", "$")
    return Field(**{name: value for name, value in facts.items() if value is not None})


@cache
def _model(struct: type[msgspec.Struct]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    if struct.__struct_config__.tag is not None:
        fields["kind"] = (Literal[struct.__struct_config__.tag], ...)
    for field in msgspec.structs.fields(struct):
        fields[field.name] = (model_of(field.type), _default_of(field))
    closed = issubclass(struct, views.RequestBody)
    return create_model(
        struct.__name__, __doc__=struct.__doc__, __config__=_BODY if closed else None, **fields
    )


def _default_of(field: Any) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return ... if field.default_factory is msgspec.NODEFAULT else field.default_factory()
