"""`onward nodes`: what a workflow can be made of."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.engines import server as remote
from onward.cli.options import examples

if TYPE_CHECKING:
    from onward.client import AsyncEngine
    from onward.ports.nodes.node import NodeType


@click.command(
    epilog=examples("onward nodes http", "onward nodes --server http://onward:8700 --json")
)
@click.argument("type_name", metavar="[TYPE]", required=False)
@options.as_json
@remote.server
@remote.token
def nodes(type_name: str | None, as_json: bool, server: str | None, token: str | None) -> int:
    """List the node types; for one TYPE explain it and its parameters.

    With --json a type comes with the JSON Schema of its parameters. With --server the types are
    those of a server, which may have others.
    """
    if server:
        at = remote.ServerAddress(server, token, options.DEFAULT_DATABASE)
        return _of_server(at, type_name, as_json=as_json)
    from onward.bootstrap.catalogue import builtin
    from onward.cli.output.run_result import print_json
    from onward.languages.document.problems import suggest

    if type_name is None:
        if as_json:
            print_json([_facts(one) for one in builtin])
        else:
            width = max(len(one.name) for one in builtin)
            for one in builtin:
                sys.stdout.write(f"{one.name:{width}}  {one.summary}\n")
        return 0
    kind = builtin.get(type_name)
    if kind is None:
        names = [one.name for one in builtin]
        hint = suggest(type_name, names) or f"known are {', '.join(names)}"
        raise click.UsageError(f"there is no node type {type_name!r}: {hint}")
    if as_json:
        print_json(_facts(kind))
    else:
        _explain(kind)
    return 0


def _of_server(at: remote.ServerAddress, type_name: str | None, *, as_json: bool) -> int:
    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_json, print_pretty

        if type_name is not None:
            (print_json if as_json else print_pretty)(await engine.node_type(type_name))
            return 0
        found = await engine.node_types()
        if as_json:
            print_json(found)
            return 0
        width = max((len(one["type"]) for one in found), default=0)
        for one in found:
            sys.stdout.write(f"{one['type']:{width}}  {one['summary']}\n")
        return 0

    return remote.talk(at, ask)


def _facts(kind: NodeType) -> dict[str, Any]:
    return {
        "type": kind.name,
        "summary": kind.summary,
        "description": inspect.getdoc(kind.parameters) or "",
        "credential": kind.credential,
        "expressions": kind.expressions,
        "parameters": [_parameter(kind, name) for name in _properties(kind)],
        "schema": kind.schema(),
    }


def _properties(kind: NodeType) -> dict[str, Any]:
    """Return the schema of each parameter, by name."""
    schema = kind.schema()
    found: dict[str, Any] = schema["$defs"][schema["$ref"].rpartition("/")[2]]["properties"]
    return found


def _parameter(kind: NodeType, name: str) -> dict[str, Any]:
    schema = _properties(kind)[name]
    fact = {"name": name, "type": _type_in_words(schema), "required": "default" not in schema}
    if "default" in schema:
        fact["default"] = schema["default"]
    if described := _descriptions(schema):
        fact["description"] = described
    return fact


def _type_in_words(schema: dict[str, Any]) -> str:
    """Return what a parameter may be, in a few words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_in_words(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(str(one) for one in schema["enum"])
    if "$ref" in schema:
        return "object"
    word = str(schema.get("type", "any value"))
    if word == "array" and schema.get("items"):
        return f"list of {_type_in_words(schema['items'])}"
    limits = [
        f"{sign} {schema[key]:g}"
        for key, sign in (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="))
        if key in schema
    ]
    return f"{word} {', '.join(limits)}" if limits else word


def _descriptions(schema: dict[str, Any]) -> str:
    parts = [schema, *schema.get("anyOf", ())]
    return next((part["description"] for part in parts if "description" in part), "")


def _explain(kind: NodeType) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(kind.name, style="bold"))
    for paragraph in (inspect.getdoc(kind.parameters) or "").split("\n\n"):
        console.print(Text(f"\n{' '.join(paragraph.split())}"))
    if kind.credential:
        console.print(Text("\nIt needs `credentials`, the name of a credential."))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("parameter", "type", "default", ""):
        table.add_column(heading, overflow="fold")
    for name in _properties(kind):
        fact = _parameter(kind, name)
        default = "required" if fact["required"] else _as_yaml(fact["default"])
        jq = (
            "jq" if any(expression.split("/")[0] == name for expression in kind.expressions) else ""
        )
        note = ", ".join(part for part in (jq, fact.get("description", "")) if part)
        table.add_row(Text(name), Text(fact["type"]), Text(default), Text(note))
    console.print()
    console.print(table if table.row_count else Text("It takes no parameters."))
    console.print(Text(f"\nJSON Schema: onward nodes {kind.name} --json", style="dim"))


def _as_yaml(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()
