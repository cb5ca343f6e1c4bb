"""The messages with which the daemon answers. Times are in microseconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

from .chunk import (
    Chunk,
    ChunkInfo,
    Holder,
    LeftOut,
    ListedChunk,
    Retrieved,
    Summarised,
    ThinkSpan,
)
from .fields import Floats, Int32, Int64, TokenIds, Uint64
from .names import Approximation, ChunkType, EventKind, MissReason, OnOverflow, ThinkPolicy


@dataclass(frozen=True)
class Pong:
    boot_id: str  # changes with each start of the daemon
    version: str


@dataclass(frozen=True, kw_only=True)
class StateStats:
    """States of recurrent layers, in memory and on disk."""

    state_bytes: Int64  # of each
    states_max: Int64
    states_used: Int64  # kept ones, and those of running requests
    states_kept: Int64  # prompts can go on from them
    states_dropped: Int64  # to make room
    on_disk: Int64
    written: Int64
    loaded: Int64


@dataclass(frozen=True, kw_only=True)
class StatusReply:
    """What the daemon runs and holds, and what it did since its start."""

    version: str
    boot_id: str
    state: str  # "serving", "stopping"
    uptime_us: Int64
    model: str
    model_type: str
    weight_type: str
    kv_type: str
    fingerprint: str = ""  # if it is the same, a prompt and seed give the same answer
    isa: str
    threads: Int32
    context_tokens_max: Int32
    weight_bytes: Int64
    kv_bytes_max: Int64
    kv_bytes_used: Int64
    kv_pages_used: Int64
    kv_bytes_per_token: Int64
    kv_disk_bytes: Int64 | None = None  # None: nothing is kept on disk
    kv_disk_bytes_max: Int64 | None = None
    states: StateStats | None = None  # None: the model has no recurrent layers
    attention: str = ""  # the mode of requests that name none
    sequence_tokens_max: Int64 = 0  # of a prompt and its answer, in this mode
    requests_running: Int32
    requests_waiting: Int32
    requests_waiting_max: Int32
    tokens_waiting: Int64 = 0
    tokens_waiting_max: Int64 = 0
    requests_preempted: Int64 = 0
    requests_done: Int64
    requests_failed: Int64
    requests_cancelled: Int64
    tokens_reused: Int64
    tokens_prefilled: Int64
    tokens_reprefilled: Int64
    tokens_generated: Int64
    tokens_selected: Int64 = 0  # computed ones that selected pages
    tokens_drafted: Int64 = 0  # guessed with selection, then checked
    tokens_accepted: Int64 = 0  # of these, the right ones
    tokens_approximate: Int64 = 0  # found, with K and V that are approximations
    tokens_moved: Int64 = 0  # of answers, to where they stand without thoughts
    pages_evicted: Int64
    chunks_input: Int32
    chunks_output: Int32
    reprefills_pending: Int32
    prefill_tokens_per_s: float
    decode_tokens_per_s: float
    actors_restarted: list[str]
    warnings: list[str] = field(default_factory=list)  # what is wrong now, one sentence each


@dataclass(frozen=True)
class Accepted:
    """The request waits or runs."""

    queue_position: Int32  # requests before it
    output_id: str = ""  # the retained output's future id, unless an equal output exists
    fingerprint: str = ""  # as in StatusReply, of the model that answers


@dataclass(frozen=True)
class Progress:
    """How far a request is; sent about every second while the request is silent."""

    prompt_tokens: Int64  # 0: not known yet
    prompt_tokens_done: Int64
    tokens_per_s: float = 0.0
    eta_us: Int64 = 0  # to the first token; 0: not known
    queue_position: Int32 = 0


@dataclass(frozen=True)
class Delta:
    """More text."""

    text: str
    reasoning: bool  # whether the text is a thought


@dataclass(frozen=True)
class Miss:
    """Why a part of a prompt was computed."""

    reason: MissReason = MissReason.NONE
    position: Int64 = 0  # of the first prompt token that was not found
    known_token: Int32 = -1  # the closest known chain's token at that position, or -1


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of a generation."""

    prompt_tokens: Int64
    reused_tokens: Int64  # tokens of the prompt whose K and V were found
    loaded_tokens: Int64 = 0  # the part of them that was read from disk
    prefilled_tokens: Int64  # tokens of the prompt that were computed now
    miss: Miss = field(default_factory=Miss)
    completion_tokens: Int64
    reasoning_tokens: Int64
    selected_tokens: Int64 = 0  # computed tokens that selected pages
    drafted_tokens: Int64 = 0  # guessed with selection, then checked (attention "verify")
    accepted_tokens: Int64 = 0  # of these, the right ones
    approximate_tokens: Int64 = 0  # reused tokens whose K and V are approximations


@dataclass(frozen=True)
class Timings:
    queue_us: Int64
    prefill_us: Int64
    first_token_us: Int64  # from acceptance
    decode_us: Int64
    total_us: Int64


@dataclass(frozen=True)
class MissingChunk:
    """A chunk, or the output of a turn, that was missing when an answer was made."""

    id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Final:
    """A generation that has ended."""

    text: str  # thoughts removed
    reasoning: str
    finish_reason: str  # "stop", "length", "cancelled"
    token_ids: TokenIds = field(default_factory=list)  # as sampled
    logprobs: Floats = field(default_factory=list)
    usage: Usage
    timings: Timings
    seed: Uint64
    output_chunk_id: str  # "": nothing was retained
    durable: bool = True  # whether the retained output outlives the daemon
    think_policy: ThinkPolicy = ThinkPolicy.REPREFILL
    top_token_ids: TokenIds = field(default_factory=list)  # n for each token
    top_logprobs: Floats = field(default_factory=list)
    missing: list[MissingChunk] = field(default_factory=list)  # what it was answered without
    think_spans: list[ThinkSpan] = field(default_factory=list)  # where token_ids are thoughts
    attention: str = ""  # that was used: "dense", "window:W:S", "select:B:D", "verify:B:D"
    approximation: Approximation = Approximation.NONE  # of the K and V that it continued
    left_out: LeftOut | None = None  # for lack of room; None: nothing
    retrieved: list[Retrieved] = field(default_factory=list)  # what was brought back of that
    retrieved_text: str = ""  # as the prompt has it, before the newest question
    summarised: Summarised | None = None  # what stands in for what was left out; None: nothing


@dataclass(frozen=True)
class ChunkReply:
    chunk: Chunk
    durable: bool = True  # False: the disk accepts no writes now; the daemon tries again
    ended: list[Holder] = field(default_factory=list)  # by the change
    gone: bool | None = None  # True: nothing holds the chunk any more


@dataclass(frozen=True)
class PrefixReply:
    """A pinned beginning of prompts."""

    id: str
    tokens: Int64  # the pinned tokens
    references: Int64  # from all connections of the tenant
    reused_tokens: Int64
    prefilled_tokens: Int64
    miss: Miss


@dataclass(frozen=True, kw_only=True)
class ChunkListReply:
    """A page of a list."""

    chunks: list[ListedChunk]
    token_ids: TokenIds = field(default_factory=list)
    token_counts: list[Int64]  # for the text of each chunk
    more: bool  # True: ask again after the last id

    def infos(self) -> list[ChunkInfo]:
        return [ChunkInfo(*pair) for pair in zip(self.chunks, self.token_counts)]


@dataclass(frozen=True)
class ChunkSearchHit:
    id: str
    type: ChunkType
    name: str = ""
    snippet: str = field(kw_only=True)  # about a dozen words of the text


@dataclass(frozen=True)
class ChunkSearchReply:
    hits: list[ChunkSearchHit]


@dataclass(frozen=True)
class ChunkGroup:
    """Chunks of one tenant and type."""

    tenant: str
    type: ChunkType
    chunks: Int64
    pinned: Int64
    hits: Int64
    registrations: Int64
    text_bytes: Int64
    kv_bytes: Int64  # in memory, each page once
    kv_disk_bytes: Int64 = 0  # on disk, each page once


@dataclass(frozen=True, kw_only=True)
class CacheStats:
    """The pages of all tenants in memory."""

    policy: str
    page_bytes: Int64
    pages_max: Int64
    pages_used: Int64
    pages_pinned: Int64
    pages_pin_promised: Int64
    pages_pinned_max: Int64
    pages_held: Int64
    pages_held_max: Int64
    page_hits: Int64
    page_misses: Int64
    evicted: Int64
    removed_dead: Int64
    removed_deleted: Int64
    removed_expired: Int64
    evicted_early: Int64
    working_set_bytes: Int64
    thrashing: bool
    thrash_alarms: Int64
    refault_share: float
    recompute_bonus_s: float
    chunk_bytes: Int64 = 0  # in memory, of all chunks, each page once
    chunk_disk_bytes: Int64 = 0  # on disk, of all chunks, each page once
    saved_tokens: Int64 = 0  # prompt tokens that were found and not computed
    saved_us: Int64 = 0  # the time to compute them, as estimated now
    saved_bytes: Int64 = 0  # bytes of K and V that were not written again


@dataclass(frozen=True, kw_only=True)
class DiskStats:
    """The pages on disk of the model that is served."""

    pages: Int64
    page_bytes: Int64
    pages_written: Int64
    pages_loaded: Int64
    pages_bad: Int64
    pages_removed: Int64
    load_bytes_per_s: Int64


@dataclass(frozen=True)
class StatsReply:
    """The space that chunks and pages take, in memory and on disk."""

    groups: list[ChunkGroup]
    chunks_max: Int64
    text_bytes_max: Int64
    pages_of_tenant: Int64
    cache: CacheStats | None = None  # only for the tenant "local"
    disk: DiskStats | None = None
    states: StateStats | None = None


@dataclass(frozen=True)
class FsckFinding:
    where: str
    what: str
    repaired: bool


@dataclass(frozen=True)
class FsckReply:
    findings: list[FsckFinding]  # the first 1000
    found: Int64
    left: Int64  # not repaired
    pages: Int64
    bytes: Int64


@dataclass(frozen=True)
class BackupReply:
    pages: Int64
    bytes: Int64
    pages_bad: Int64  # damaged, and left out


@dataclass(frozen=True)
class SessionInfo:
    id: str
    created_us: Int64
    last_used_us: Int64
    turns: Int64
    on_overflow: OnOverflow | None = None  # of turns that name none; None: ERROR
    left_out_turns: Int64 | None = None  # turns before this number are not in its prompts
    retrieved: list[Retrieved] = field(default_factory=list)  # of them, for the newest turn
    summarised: Summarised | None = None  # what stood in for them in that turn's prompt


@dataclass(frozen=True)
class SessionListReply:
    sessions: list[SessionInfo]


@dataclass(frozen=True)
class SessionTurn:
    number: Int64
    output_id: str


@dataclass(frozen=True)
class SessionOutput:
    """What happened to a turn's output when its session was deleted."""

    id: str
    gone: bool  # nobody else held it, and it is deleted
    held_by: str = ""  # else its holders, as text for people


@dataclass(frozen=True)
class SessionReply:
    session: SessionInfo
    turns: list[SessionTurn]
    durable: bool
    outputs: list[SessionOutput] = field(default_factory=list)  # for a deleted session


@dataclass(frozen=True)
class ExpiryPolicy:
    type: ChunkType
    ttl_ms: Int64


@dataclass(frozen=True)
class PolicyReply:
    policies: list[ExpiryPolicy]  # for the types whose chunks expire
    durable: bool


@dataclass(frozen=True)
class TokenizeReply:
    token_ids: TokenIds = field(default_factory=list)


@dataclass(frozen=True)
class DetokenizeReply:
    text: str
    pieces: list[str] = field(default_factory=list)  # U+FFFD for a part of a character
    piece_bytes: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class ApplyTemplateReply:
    prompt: str
    token_ids: TokenIds = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """A model of the daemon. Sizes are estimates in bytes, or 0 if they are unknown."""

    name: str
    state: str  # "loaded", "loading", "unloading", "unloaded"
    default: bool  # always loaded; used by requests that name no model
    path: str = ""  # only for the tenant "local"
    format: str  # "folder", "gguf"
    weight_type: str  # as the daemon loads it
    disk_bytes: Int64
    weights_bytes: Int64
    kv_bytes: Int64  # the memory that its K and V may take
    other_bytes: Int64
    total_bytes: Int64
    requests: Int64  # waiting or running requests
    last_used_us: Int64  # Unix time; 0: not since the daemon's start
    problem: str = ""  # why it could not be read or loaded


@dataclass(frozen=True, kw_only=True)
class ModelListReply:
    models: list[ModelInfo] = field(default_factory=list)  # the default model first
    models_dir: str = ""  # only for the tenant "local"; "": there is none
    total_bytes: Int64  # of the models that are loaded or being loaded
    total_bytes_max: Int64  # 0: no limit


@dataclass(frozen=True)
class ModelReply:
    model: ModelInfo


@dataclass(frozen=True)
class EventNotice:
    """An event of a chunk or a request of the client's tenant."""

    sequence: Int64  # 1, 2, 3, …
    boot_id: str  # the boot to which `sequence` belongs
    time_us: Int64
    kind: EventKind
    id: str  # the chunk's; a request's has 32 hexadecimal digits
    type: ChunkType | None = None  # the chunk's
    tokens: Int64 = 0  # in the chunk's text, the prompt, or a finished request's output
    reason: str = ""  # for a finished request: finish_reason, or its error's code
    approximation: Approximation = Approximation.NONE  # of the chunk's or the request's K and V


@dataclass(frozen=True)
class EventsReply:
    boot_id: str
    events: list[EventNotice]
    last: Int64  # the number of the newest event
    gap: bool  # some events after `after` are lost for good


@dataclass(frozen=True)
class Ack:
    pass


@dataclass(frozen=True)
class ErrorInfo:
    code: str
    field: str
    message: str


@dataclass(frozen=True)
class Loading:
    """How much of its model a daemon has loaded."""

    done_bytes: Int64
    total_bytes: Int64  # 0: not known yet


@dataclass(frozen=True)
class ErrorReply:
    error: ErrorInfo
    retry_after_ms: Int64
    context_tokens_max: Int64 | None = None  # set: the prompt does not fit this many tokens
    loading: Loading | None = None  # why the daemon does not serve yet
