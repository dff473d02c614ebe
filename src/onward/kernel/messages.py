"""The three messages of RFC 001 section 6, with the fields of RFC 004, 005 and 006.

Everything beyond the RFCs is optional, so that a producer that knows only them can start a run with
a plain NodeExecutionMessage. Decoding is lazy: the definition and every context entry stay bytes
until they are needed. A message that does not decode, or breaks a limit, raises MessageError:
repeating it can never help, so it is quarantined. One of a later version raises NewerMessageError:
`envelope.py` has the rule by which versions live side by side.

The messages come first, then encoding and decoding, then the checks of a token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Raw

from onward.errors import MessageError, NewerMessageError
from onward.kernel.context import Context, Ref
from onward.kernel.envelope import SCHEMA_VERSION, version_of, with_unknown
from onward.kernel.ids import derive
from onward.kernel.json import MAX_DEPTH, is_too_deep
from onward.kernel.lineage import Frame, Lineage, scope_of
from onward.kernel.log_lines import LogLineRecord
from onward.kernel.outcome import NodeError
from onward.kernel.schema import schema_of
from onward.kernel.timestamps import LATEST_MS

MAX_BYTES = 10 * 1024 * 1024
"""RFC 001 section 11.1: the largest message."""
MAX_LINEAGE = 64
MAX_POINTER_BYTES = 1024
"""A task of the Serverless Workflow DSL is named by its JSON pointer."""
IDENTIFIER = r"^[a-zA-Z0-9_-]+$"
_identifier = re.compile(r"[a-zA-Z0-9_-]{1,128}")

Signal = Literal["", "resume", "timeout", "page", "probe", "signal", "awaited"]
Status = Literal["running", "success", "failed", "waiting"]
Ending = Literal["completed", "failed", "halted", "cancelled"]


def state_id_of(execution_id: str, generation: int) -> str:
    """Return the id of one generation of a run's state."""
    return f"{execution_id}~{generation}" if generation else execution_id


class NodeExecutionMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Execute one node. Called a *token* everywhere else: a run is where its tokens are."""

    workflow_id: str
    execution_id: str
    current_node: str
    accumulated_context: dict[str, Raw]
    workflow_definition: Raw | msgspec.UnsetType = msgspec.UNSET
    """The definition itself; our own tokens carry `definition_ref` instead."""
    from_node: str = ""
    lineage_stack: Lineage = ()

    token_id: str = ""
    """Deterministic: a hash of the parent token and the edge from it."""
    publish_id: str = ""
    """Unique per physical publish: tells a redelivery from a duplicate."""
    parent: str = ""
    outcome: str = ""
    siblings: int = 1
    """The settled step this token came from, the routing it chose, and how many children it has."""
    from_edge: str = ""
    definition_ref: str = ""
    context_refs: dict[str, Ref] = {}
    context_base: Ref | None = None
    attempt: int = 1
    visit: str = ""
    """Of a second or later attempt: the token of the first. All attempts share a visit."""
    started_at: int = 0
    """When the run started, in epoch milliseconds."""
    signal: Signal = ""
    """Why a token that is not an ordinary arrival was sent."""
    sent_at: int = 0
    """When this token was made, in epoch milliseconds. Expressions and waits take it for "now", so
    that a redelivery computes what the first delivery did."""
    awaits: str = ""
    """Of a signal, and of a token that waits for one: the address at which they meet."""
    items_ref: Ref | None = None
    """Of a split's own token: the array its items come from."""
    span: tuple[int, int, int] = (0, 0, 0)
    """Of a split that is still sending: next item, end of what may be sent now, total."""
    trouble: int = 0
    """How often handling this message failed for reasons outside its node."""
    traceparent: str = ""
    priority: int = 0
    generation: int = 0
    """How often the run's state was rebuilt before: tokens of an earlier state are void."""
    root: str = ""
    """Of a run that tries another one again: the first attempt, whose token ids it has too."""
    schema_version: int = msgspec.field(default_factory=lambda: SCHEMA_VERSION)
    """Always present. A message of a later one is left to a process that knows it."""

    @property
    def state_id(self) -> str:
        """Return the id of the run's state: each generation has its own."""
        return state_id_of(self.execution_id, self.generation)

    @property
    def stem(self) -> str:
        """Return the id from which those of the run's tokens derive: the same in every attempt."""
        return self.root or self.execution_id

    @property
    def scope(self) -> str:
        """Return the scope this token lives in."""
        return scope_of(self.lineage_stack)

    @property
    def context(self) -> Context:
        """Return the context this token carries."""
        return Context(self.accumulated_context, self.context_refs, self.context_base)

    def child(
        self,
        node: str,
        *,
        from_node: str,
        edge: str,
        unit: str,
        tag: str,
        siblings: int,
        lineage: Lineage,
        context: Context,
        now_ms: int,
    ) -> Token:
        """Return a token that follows from outcome `tag` of `unit`. Same arguments: same token.

        Only what belongs to the run is inherited. Whatever is about this visit alone (its attempt,
        its signal, the items of its split) begins anew, and so does a field that is added later,
        unless it is named here. `unit` is what ends: this token, an opened merge or a joined split.
        """
        return Token(
            workflow_id=self.workflow_id,
            execution_id=self.execution_id,
            definition_ref=self.definition_ref,
            started_at=self.started_at,
            traceparent=self.traceparent,
            priority=self.priority,
            generation=self.generation,
            root=self.root,
            schema_version=self.schema_version,
            current_node=node,
            from_node=from_node,
            from_edge=edge,
            lineage_stack=lineage,
            accumulated_context=context.inline,
            context_refs=context.refs,
            context_base=context.base,
            token_id=derive(unit, edge, tag),
            parent=unit,
            outcome=tag,
            siblings=siblings,
            sent_at=now_ms,
        )


Token = NodeExecutionMessage


class Progress(msgspec.Struct, frozen=True):
    """How far a barrier is (RFC 004, 7.2)."""

    processed: int
    total: int
    failed: int = 0


class NodeStatusMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happened to one node. `output`, `error` and `duration_ms` are always present."""

    workflow_id: str
    execution_id: str
    node_id: str
    status: Status
    output: Raw | None = msgspec.field(default_factory=lambda: None)
    error: NodeError | None = msgspec.field(default_factory=lambda: None)
    executed_at: str
    duration_ms: int
    lineage_stack: Lineage = ()
    token_id: str = ""
    attempt: int = 1
    output_ref: Ref | None = None
    """Where the output is when it is too large to carry."""
    progress: Progress | None = None
    details: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    log: tuple[LogLineRecord, ...] = ()
    """The lines that the node wrote to the log."""
    schema_version: int = msgspec.field(default_factory=lambda: SCHEMA_VERSION)


class CompletionMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The one ending of a run."""

    workflow_id: str
    execution_id: str
    status: Ending
    final_context: dict[str, Raw]
    completed_at: str
    total_duration_ms: int
    context_refs: dict[str, Ref] = {}
    error: NodeError | None = None
    failed_node: str = ""
    output_nodes: tuple[str, ...] = ()
    """The nodes at which the run ended: their outputs are its output."""
    schema_version: int = msgspec.field(default_factory=lambda: SCHEMA_VERSION)


RunMessage = NodeStatusMessage | CompletionMessage
Message = NodeExecutionMessage | RunMessage

_tokens = msgspec.json.Decoder(NodeExecutionMessage)
_encoder = msgspec.json.Encoder()


def encode_message(message: Message) -> bytes:
    """Return the wire form of a message; MessageError if it exceeds MAX_BYTES."""
    data = _encoder.encode(message)
    if len(data) > MAX_BYTES:
        node = getattr(message, "current_node", "") or getattr(message, "node_id", "")
        place = f"node {node!r} of {message.execution_id}" if node else message.execution_id
        raise MessageError(f"message of {len(data)} bytes for {place} exceeds {MAX_BYTES} bytes")
    return data


def decode_token(data: bytes) -> Token:
    """Return the token in `data` with every derivable field filled in, or raise MessageError."""
    if len(data) > MAX_BYTES:
        raise MessageError(f"message of {len(data)} bytes exceeds the limit of {MAX_BYTES} bytes")
    if is_too_deep(data):
        raise MessageError(f"message is nested deeper than {MAX_DEPTH} levels")
    try:
        token = _tokens.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _decode_error("NodeExecutionMessage", data, problem) from None
    if token.schema_version != SCHEMA_VERSION:
        token = msgspec.structs.replace(token, schema_version=_known(token.schema_version))
    _check(token)
    return token if token.token_id else _with_identity(token)


def encode_again(token: Token, received: bytes) -> bytes:
    """Return the wire form of a token that was received as `received` and is sent once more.

    Fields that only a later release understands are preserved.
    """
    return with_unknown(encode_message(token), received, Token.__struct_fields__)


def _known(version: int) -> int:
    """Return the version as which a message is read: this one, also for an earlier one."""
    if version > SCHEMA_VERSION:
        raise NewerMessageError(
            f"schema_version {version} is of a newer onward, this one knows {SCHEMA_VERSION}"
        )
    return SCHEMA_VERSION


def _decode_error(what: str, data: bytes, problem: Exception) -> MessageError:
    """Return why a message cannot be read: it is of a later version, or it is no message."""
    try:
        _known(version_of(data))
    except NewerMessageError as newer:
        return newer
    return MessageError(f"not a {what}: {problem}")


def encode_tokens(tokens: Sequence[Token]) -> bytes:
    """Return the first tokens of a run as one JSON array."""
    return b"[" + b",".join(map(encode_message, tokens)) + b"]"


def decode_tokens(data: bytes) -> list[Token]:
    """Return the tokens of `encode_tokens`; MessageError for anything else."""
    try:
        messages = msgspec.json.decode(data, type=list[Raw])
    except msgspec.DecodeError as problem:
        raise MessageError(f"not an array of NodeExecutionMessages: {problem}") from None
    return [decode_token(bytes(message)) for message in messages]


class _StatusOnTheWire(NodeStatusMessage, frozen=True, kw_only=True):
    """A status as it is read: for a field of type `Raw | None`, `null` would always be None."""

    output: Raw = msgspec.field(default_factory=lambda: Raw(b"null"))


_statuses = msgspec.json.Decoder(_StatusOnTheWire | list[_StatusOnTheWire])
_completions = msgspec.json.Decoder(CompletionMessage)


def decode_statuses(data: bytes) -> list[NodeStatusMessage]:
    """Return the status in `data`, or each of an array of them, or raise MessageError."""
    try:
        found = _statuses.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _decode_error("NodeStatusMessage", data, problem) from None
    return [_status(status) for status in (found if isinstance(found, list) else [found])]


def _status(read: _StatusOnTheWire) -> NodeStatusMessage:
    fields = {name: getattr(read, name) for name in NodeStatusMessage.__struct_fields__}
    fields["schema_version"] = _known(read.schema_version)
    if read.status != "success":
        fields["output"] = None
    return NodeStatusMessage(**fields)


def decode_completion(data: bytes) -> CompletionMessage:
    """Return the completion in `data`, or raise MessageError."""
    try:
        message = _completions.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _decode_error("CompletionMessage", data, problem) from None
    _known(message.schema_version)
    return message


def read_token(data: bytes) -> Token:
    """Return a token that the engine itself encoded and stored: nothing is checked."""
    return _tokens.decode(data)


def check_identifier(what: str, value: str) -> None:
    """Raise MessageError unless `value` can name a workflow, an execution or a node."""
    if not _identifier.fullmatch(value):
        shown = ascii(value[:80])
        raise MessageError(f"{what} {shown} must match {IDENTIFIER}, with 128 characters at most")


def _check_node(value: str) -> None:
    """Raise MessageError unless `value` can name a node: by an id, or by a JSON pointer."""
    pointer = value.startswith("/") and len(value.encode("utf-8", "replace")) <= MAX_POINTER_BYTES
    if not pointer:
        check_identifier("current_node", value)


def _check(token: Token) -> None:
    for name in ("workflow_id", "execution_id"):
        check_identifier(name, getattr(token, name))
    _check_node(token.current_node)
    if len(token.lineage_stack) > MAX_LINEAGE:
        raise MessageError(f"lineage_stack is deeper than {MAX_LINEAGE} splits")
    for name in token.accumulated_context:
        if not name.startswith("$"):
            raise MessageError(f"accumulated_context key {name[:80]!r} must start with '$'")
    if token.siblings < 1 or token.attempt < 1 or min(token.span) < 0:
        raise MessageError("siblings and attempt must be at least 1, span not negative")
    if not (0 <= token.sent_at <= LATEST_MS and 0 <= token.started_at <= LATEST_MS):
        raise MessageError("sent_at and started_at must be epoch milliseconds up to year 9999")
    if not all(frame.split_token for frame in token.lineage_stack):
        raise MessageError("a frame of lineage_stack has no split_token: which run of the split?")


def _with_identity(token: Token) -> Token:
    """Return a token, from a producer that knows only the RFC, with the ids it would have had."""
    path = [f"{frame.branch_id}:{frame.item_index}" for frame in token.lineage_stack]
    parent = derive(token.execution_id, "rfc", token.from_node, *path)
    return msgspec.structs.replace(
        token, token_id=derive(parent, token.current_node), parent=parent, outcome="ok"
    )


def branch_id(execution_id: str, split_node: str, index: int) -> str:
    """Return the branch name of RFC 004, 3.1."""
    return f"{execution_id}_{split_node}_{index}"


def item_frame(execution_id: str, split: str, node: str, index: int, total: int) -> Frame:
    """Return the frame of one item; `split` is the token of that run of the split."""
    return Frame(node, branch_id(execution_id, node, index), index, total, split)


def message_schemas() -> dict[str, dict[str, Any]]:
    """Return the published JSON Schema of each message, by name."""
    return {
        kind.__name__: schema_of(kind.__name__, msgspec.json.schema(kind))
        for kind in (NodeExecutionMessage, NodeStatusMessage, CompletionMessage)
    }
