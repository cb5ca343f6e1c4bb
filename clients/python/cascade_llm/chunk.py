"""Chunks as messages carry them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from .fields import Int32, Int64, TokenIds, Uint32, Uint64
from .names import Approximation, ChunkType, KvState, ThinkPolicy


@dataclass(frozen=True)
class ThinkSpan:
    """A half-open range of sampled tokens that are thoughts, think tokens included."""

    begin: Int32
    end: Int32
    closed: bool  # False: the generation ended within this range


@dataclass(frozen=True)
class LeftOut:
    """What a prompt lacks of its conversation, counted from the beginning."""

    turns: Int64  # messages of the user, each with all that follows it
    steps: Int64  # of the next turn: messages of the assistant, each with the results of its calls


@dataclass(frozen=True)
class Retrieved:
    """What a prompt has again of a turn that was left out."""

    chunk_id: str  # of the turn's output; "": the conversation names none for it
    tokens: Int64  # about


@dataclass(frozen=True)
class Summarised:
    """The summaries that stand in a prompt for turns that were left out."""

    turns: Int64  # how many of these turns they stand in for
    chunk_ids: list[str]  # of the summaries, in the order of the conversation


@dataclass(frozen=True, kw_only=True)
class GenerationRecord:
    """How an output was generated."""

    temperature: float
    top_p: float
    top_k: Int32
    min_p: float
    repetition_penalty: float
    seed: Uint64
    max_tokens: Int32
    finish_reason: str  # "stop", "length", "cancelled"
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias_count: Int32 = 0  # how many tokens had a bias
    approximation: Approximation = Approximation.NONE  # of the K and V that it continued
    left_out: LeftOut | None = None  # of its prompt's conversation, for lack of room; None: nothing
    left_out_from: str = ""  # the output whose prompt or answer has the newest of these turns
    retrieved: list[Retrieved] = field(default_factory=list)  # what was brought back of that
    summarised: Summarised | None = None  # what stood in for that; None: nothing


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A holder of a chunk: the chunk lives as long as one of its holders."""

    kind: str  # "retention", "request", "name", "session", "pin"
    label: str = ""  # the name, or the session
    count: Int64 = 1  # how many retentions with equal terms
    expires_us: Int64 = 0  # 0: never
    priority: Int32 = 0
    priority_until_us: Int64 = 0  # 0: permanently
    pinned: bool = False


@dataclass(frozen=True, kw_only=True)
class ChunkRecord:
    """Everything of a chunk except its token ids. Times are microseconds of Unix time."""

    id: str
    type: ChunkType
    tenant: str
    content_hash: str
    text: str  # for an output: the answer, thoughts removed
    query_text: str = ""  # outputs only: the user's message that it answers
    raw_text: str = ""  # outputs only: as sampled, thoughts included
    think_spans: list[ThinkSpan] = field(default_factory=list)  # outputs only
    think_policy: ThinkPolicy
    kv_state: KvState
    kv_approximation: Approximation = Approximation.NONE  # of the K and V in memory
    kv_tokens: Int64
    kv_bytes: Int64
    kv_disk_pages: Int64 = 0
    kv_disk_bytes: Int64 = 0
    kv_key: str = ""
    kv_begin: Int64 = 0
    generation: GenerationRecord
    created_us: Int64
    last_used_us: Int64
    hits: Int64  # requests that used it
    pinned: bool
    expires_us: Int64  # 0: never
    priority: Int32
    priority_until_us: Int64 = 0  # 0: permanently
    name: str = ""
    registrations: Int64 = 1  # how often this content was registered or generated
    parent_ids: list[str] = field(default_factory=list)  # outputs only: the chunks of their prompt
    published: bool = False
    client_data: str = ""  # for an output: the data that its request gave
    holders: list[Holder] = field(default_factory=list)  # no holders: the chunk is deleted


@dataclass(frozen=True, kw_only=True)
class Chunk(ChunkRecord):
    """A text with an id: system prompt, context, query, or the output of a generation."""

    token_ids: TokenIds = field(default_factory=list)  # ids of `text`; for an output: as sampled


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangedChunk(Chunk):
    """A chunk as it is after a change, with its remaining holders, and what the change did. It
    equals the same chunk from get_chunk()."""

    ended: list[Holder] = field(default_factory=list)  # by the change; `count`: how many retentions
    gone: bool = False  # nothing holds the chunk any more, and it is deleted

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Chunk):
            return NotImplemented
        return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(Chunk))


@dataclass(frozen=True, kw_only=True)
class ListedChunk(ChunkRecord):
    """A chunk in a list: its texts are cut to 400 bytes, and its token ids are left out."""

    token_count: Uint32  # how many ids of the message's array are its own; in lists 0


@dataclass(frozen=True)
class ChunkInfo:
    """A chunk in a list, and the number of tokens of its text."""

    chunk: ListedChunk
    tokens: int
