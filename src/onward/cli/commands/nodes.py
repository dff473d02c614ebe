"""`onward nodes`: the node types, and their parameters."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.engines.engine import EngineAddress, ask, server_option, token_option
from onward.cli.options import examples

if TYPE_CHECKING:
    from onward.client import AsyncEngine
    from onward.ports.nodes.node import NodeType


@click.command(
    epilog=examples("onward nodes http", "onward nodes --server http://onward:8700 --json")
)
@click.argument("type_name", metavar="[TYPE]", required=False)
@options.as_json
@server_option
@token_option
def nodes(type_name: str | None, as_json: bool, server: str | None, token: str | None) -> int:
    """List the node types, or describe TYPE and its parameters.

    With --json a type has the JSON Schema of its parameters. With --server the types are those of
    the server.
    """
    if server:
        engine = EngineAddress(server, token, options.DEFAULT_DATABASE)
        return _ask_server(engine, type_name, as_json=as_json)
    from onward.bootstrap.catalogue import builtin
    from onward.cli.output.console import print_json
    from onward.languages.document.problems import suggest

    if type_name is None:
        if as_json:
            print_json([_facts(kind) for kind in builtin])
        else:
            _print_types([(kind.name, kind.summary) for kind in builtin])
        return exit_codes.OK
    kind = builtin.get(type_name)
    if kind is None:
        names = [kind.name for kind in builtin]
        hint = suggest(type_name, names) or f"there are {', '.join(names)}"
        raise click.UsageError(f"there is no node type {type_name!r}: {hint}")
    if as_json:
        print_json(_facts(kind))
    else:
        _describe(kind)
    return exit_codes.OK


def _ask_server(engine: EngineAddress, type_name: str | None, *, as_json: bool) -> int:
    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.console import print_json, print_pretty

        if type_name is not None:
            (print_json if as_json else print_pretty)(await client.node_type(type_name))
            return exit_codes.OK
        kinds = await client.node_types()
        if as_json:
            print_json(kinds)
        else:
            _print_types([(kind["type"], kind["summary"]) for kind in kinds])
        return exit_codes.OK

    return ask(engine, work)


def _print_types(kinds: list[tuple[str, str]]) -> None:
    width = max((len(name) for name, _ in kinds), default=0)
    for name, summary in kinds:
        sys.stdout.write(f"{name:{width}}  {summary}\n")


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
    """Return the type of a parameter in a few words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_in_words(choice) for choice in schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
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


def _describe(kind: NodeType) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(kind.name, style="bold"))
    for paragraph in (inspect.getdoc(kind.parameters) or "").split("\n\n"):
        console.print(Text(f"\n{' '.join(paragraph.split())}"))
    if kind.credential:
        console.print(Text("\nIt requires `credentials`, the name of a credential."))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("parameter", "type", "default", ""):
        table.add_column(heading, overflow="fold")
    for name in _properties(kind):
        fact = _parameter(kind, name)
        default = "required" if fact["required"] else _as_json(fact["default"])
        is_jq = any(expression.split("/")[0] == name for expression in kind.expressions)
        jq = "jq" if is_jq else ""
        note = ", ".join(part for part in (jq, fact.get("description", "")) if part)
        table.add_row(Text(name), Text(fact["type"]), Text(default), Text(note))
    console.print()
    console.print(table if table.row_count else Text("It has no parameters."))
    console.print(Text(f"\nJSON Schema: onward nodes {kind.name} --json", style="dim"))


def _as_json(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()
