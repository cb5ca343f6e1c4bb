"""The messages that a client sends; frames.py has each one's number on the wire.

docs/protocol.md, section 4, has their ranges and meanings; the daemon checks them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .fields import Int32, Int64, JsonArray, RequestId, TokenIds, Uint64
from .grammar import Grammar
from .names import ChunkType, OnMissing, OnOverflow, TextStart, ThinkPolicy


@dataclass
class Ping:
    """Answered with Pong."""


@dataclass
class StatusRequest:
    """Answered with StatusReply."""


@dataclass
class ChunkRef:
    """A chunk in a composition: by `id`, or by `text` (outputs have an id only)."""

    type: ChunkType
    id: str = ""
    text: str = ""


@dataclass
class ChatMessage:
    """One message of a conversation."""

    role: str  # "system", "user", "assistant", "tool"
    content: str
    reasoning: str = ""  # assistant only: thoughts without think tokens
    verbatim: bool = False  # assistant only: the prompt has `content` as it is
    tool_calls: JsonArray = ""  # assistant only: calls in OpenAI's form, a list or JSON text
    tool_call_id: str = ""  # tool only: the call whose result this is
    name: str = ""  # tool only


@dataclass
class LogitBias:
    """Added to the logit of one token before anything else."""

    token: Int32
    bias: float  # [-100, 100]


@dataclass
class Sampling:
    """How tokens are chosen. None means: the model's configuration decides; for the seed, the
    daemon draws one; for the penalties, 0."""

    temperature: float | None = None  # [0, 100]; 0: greedy
    top_p: float | None = None  # [0, 1]; 0: the most likely token
    top_k: Int32 | None = None  # 0: off
    min_p: float | None = None  # [0, 1]
    repetition_penalty: float | None = None  # (0, 100]
    seed: Uint64 | None = None
    presence_penalty: float | None = None  # [-2, 2]
    frequency_penalty: float | None = None  # [-2, 2]
    logit_bias: list[LogitBias] = field(default_factory=list)  # at most 1024


@dataclass(kw_only=True)
class GenerateRequest:
    """A generation. Exactly one of `chunks`, `messages`, `prompt` and `prompt_token_ids` says what
    the prompt is."""

    chunks: list[ChunkRef] = field(default_factory=list)  # system? (context | output)* query?
    messages: list[ChatMessage] = field(default_factory=list)  # the last is the user's
    prompt: str | None = None  # raw text, no chat template
    max_tokens: Int32 = 0  # 0: the daemon's default
    sampling: Sampling = field(default_factory=Sampling)
    stop: list[str] = field(default_factory=list)  # at most 16
    ignore_eos: bool = False
    thinking: bool | None = None  # None: the template's default
    reasoning_effort: str | None = None  # the template's, e.g. "low"; None: its default
    retain_output: bool = False  # keep the output as a chunk, with its KV
    think_policy: ThinkPolicy | None = None  # None: the daemon's policy
    stream: bool = False  # the client always asks for events
    logprobs: bool = False
    timeout_ms: Int64 = 0  # from acceptance; 0: none
    reuse: bool = True  # False: the whole prompt is computed
    top_logprobs: Int32 = 0  # [0, 20], only with logprobs
    output_name: str | None = None  # these five are for the retained output, as in ChunkUpdate
    output_pinned: bool | None = None
    output_ttl_ms: Int64 | None = None
    output_priority: Int32 | None = None
    output_priority_ms: Int64 | None = None
    prompt_priority: Int32 | None = None  # set both or neither
    prompt_priority_ms: Int64 | None = None
    session: str = ""  # the session that this is the next turn of; only with chunks
    previous_output: str = ""  # the conversation that this output ended comes before
    parents: list[str] = field(default_factory=list)  # outputs whose turns `messages` has
    on_missing: OnMissing | None = None  # for chunks and turns that no longer exist; None: ERROR
    client_data: str = ""  # kept with the retained output; at most 256 KiB
    tools: JsonArray = ""  # in OpenAI's form, a list or JSON text; only with messages
    grammar: Grammar | None = None  # the form that the answer must have
    delta_credit: Int32 | None = None  # the most deltas that may come; None: as they are read
    prompt_token_ids: TokenIds = field(default_factory=list)  # used as they are, special ones too
    continue_final_message: bool | None = None  # the answer continues the assistant's last message
    # "dense", "window:W:S", "select:B:D", "verify:B:D"; None: the daemon's
    attention: str | None = None
    heal: bool | None = None  # with SPLICE and MASK: exact K and V follow in idle time
    # For a conversation that is too long; None: as the session's last turn said, else ERROR.
    on_overflow: OnOverflow | None = None


@dataclass
class CancelRequest:
    """Ends a generation of the same connection. Answered with Ack."""

    target: RequestId  # its request id


@dataclass
class ChunkPut:
    """Registers a chunk by `text` or `token_ids`. Answered with ChunkReply."""

    type: ChunkType
    text: str = ""
    token_ids: TokenIds = field(default_factory=list)
    name: str | None = None
    pinned: bool | None = None
    ttl_ms: Int64 | None = None
    priority: Int32 | None = None
    priority_ms: Int64 | None = None


@dataclass
class ChunkListRequest:
    """Answered with ChunkListReply, newest first."""

    type: ChunkType | None = None
    limit: Int32 = 1000  # [1, 1000]
    after: str = ""  # the last id of the previous page


@dataclass
class ChunkGet:
    """Answered with ChunkReply. `id` may be a prefix of at least 8 characters."""

    id: str


@dataclass
class ChunkDelete:
    """Gives up one holder. Answered with ChunkReply: what ended, and the chunk as it is
    afterwards."""

    id: str
    name: str = ""  # if not empty: gives up the holder with this name
    all: bool | None = None  # True: gives up all holders


@dataclass
class ChunkUpdate:
    """Makes all of the given changes, or none. Answered with ChunkReply."""

    id: str
    name: str | None = None  # "": no name
    pinned: bool | None = None
    ttl_ms: Int64 | None = None  # from now; 0: never expires
    priority: Int32 | None = None  # [0, 100]
    priority_ms: Int64 | None = None  # only with priority
    published: bool | None = None
    touch: bool = False  # counts as a use


@dataclass
class StatsRequest:
    """Answered with StatsReply."""


@dataclass(kw_only=True)
class PrefixCache:
    """Computes and pins a common beginning of prompts. Answered with PrefixReply."""

    chunks: list[ChunkRef] = field(default_factory=list)  # without a query
    messages: list[ChatMessage] = field(default_factory=list)
    prompt: str | None = None
    thinking: bool | None = None
    reasoning_effort: str | None = None
    stream: bool = False
    timeout_ms: Int64 = 0


@dataclass
class PrefixAttach:
    """Adds one reference of this connection. Answered with PrefixReply."""

    id: str


@dataclass
class PrefixRelease:
    """Gives up one reference of this connection. Answered with PrefixReply."""

    id: str


@dataclass
class ChunkSearch:
    """Answered with ChunkSearchReply."""

    query: str
    limit: Int32 = 20


@dataclass
class FsckRequest:
    """Answered with FsckReply when everything on disk was verified."""

    repair: bool = False
    state_dir: str = ""


@dataclass
class BackupRequest:
    """Answered with BackupReply when everything on disk was copied."""

    directory: str
    state_dir: str = ""


@dataclass
class SessionListRequest:
    """Answered with SessionListReply."""

    limit: Int32 = 1000


@dataclass
class SessionGet:
    """Answered with SessionReply."""

    id: str


@dataclass
class SessionDelete:
    """Answered with SessionReply: the session as it was, and what became of its outputs."""

    id: str
    outputs: bool = False


@dataclass
class PolicyGet:
    """Answered with PolicyReply."""


@dataclass
class PolicySet:
    """Answered with PolicyReply."""

    type: ChunkType
    ttl_ms: Int64


@dataclass
class TokenizeRequest:
    """Answered with TokenizeReply."""

    text: str
    beginning: bool = False  # as a raw prompt begins, with BOS


@dataclass
class DetokenizeRequest:
    """Answered with DetokenizeReply."""

    token_ids: TokenIds = field(default_factory=list)
    skip_special: bool = False
    pieces: bool = False  # what each token adds to the text, as text
    piece_bytes: bool = False  # the same in bytes
    text_start: TextStart = TextStart.FIRST


@dataclass
class ApplyTemplateRequest:
    """Answered with ApplyTemplateReply."""

    messages: list[ChatMessage]
    thinking: bool | None = None
    tools: JsonArray = ""
    continue_final_message: bool | None = None
    reasoning_effort: str | None = None


@dataclass
class EventsRequest:
    """Answered with EventsReply."""

    after: Int64 = 0
    boot_id: str = ""  # the boot to which `after` belongs; "": the daemon's current one
    limit: Int32 = 1000


@dataclass
class ModelListRequest:
    """Answered with ModelListReply."""


@dataclass
class ModelLoad:
    """Answered with ModelReply when the model is loaded; with `estimate`, with what loading would
    take."""

    name: str
    estimate: bool = False


@dataclass
class ModelUnload:
    """Answered with ModelReply when the model's memory is free."""

    name: str


@dataclass
class DeltaCredit:
    """Answered with Ack."""

    target: RequestId  # the request id of a generation of the same connection
    deltas: Int32 = field(kw_only=True)
