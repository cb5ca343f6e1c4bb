"""Client of Cascade, the LLM inference daemon that keeps what it computed and uses it again.

Client and AsyncClient speak to a daemon. ChunkedLLM has the API of the earlier Python library, on
top of Client. README.md beside this package has examples.
"""

from .aio import AsyncClient
from .aio_events import AsyncEventStream, EventGap
from .aio_stream import AsyncStream, Event
from .chunk import (
    ChangedChunk,
    Chunk,
    ChunkInfo,
    ChunkRecord,
    GenerationRecord,
    Holder,
    LeftOut,
    ListedChunk,
    Retrieved,
    Summarised,
    ThinkSpan,
)
from .chunked_llm import ChunkedLLM, GenerationOutput, RetainedSequence
from .client import Client
from .compose import chunk_reference
from .endpoint import default_endpoint, endpoint_of
from .errors import CascadeError
from .event_stream import EventStream
from .grammar import Grammar
from .names import (
    Approximation,
    ChunkType,
    ErrorCode,
    EventKind,
    GrammarKind,
    KvState,
    MissReason,
    OnMissing,
    OnOverflow,
    TextStart,
    ThinkPolicy,
)
from .options import ClientOptions
from .private_daemon import PrivateDaemon
from .replies import (
    Accepted,
    ApplyTemplateReply,
    BackupReply,
    CacheStats,
    ChunkGroup,
    ChunkListReply,
    ChunkSearchHit,
    Delta,
    DetokenizeReply,
    DiskStats,
    EventNotice,
    ExpiryPolicy,
    Final,
    FsckFinding,
    FsckReply,
    Loading,
    Miss,
    ModelInfo,
    ModelListReply,
    Pong,
    PrefixReply,
    Progress,
    SessionInfo,
    SessionOutput,
    SessionReply,
    SessionTurn,
    StateStats,
    StatsReply,
    StatusReply,
    Timings,
    Usage,
)
from .requests import (
    ChatMessage,
    ChunkRef,
    GenerateRequest,
    LogitBias,
    PrefixCache,
    Sampling,
)
from .sampling_params import SamplingParams
from .stream import Stream

__version__ = "0.1.0"

__all__ = [
    "Accepted",
    "ApplyTemplateReply",
    "Approximation",
    "AsyncClient",
    "AsyncEventStream",
    "AsyncStream",
    "BackupReply",
    "CacheStats",
    "CascadeError",
    "ChangedChunk",
    "ChatMessage",
    "Chunk",
    "ChunkGroup",
    "ChunkInfo",
    "ChunkListReply",
    "ChunkRecord",
    "ChunkRef",
    "ChunkSearchHit",
    "ChunkType",
    "ChunkedLLM",
    "Client",
    "ClientOptions",
    "Delta",
    "DetokenizeReply",
    "DiskStats",
    "ErrorCode",
    "Event",
    "EventGap",
    "EventKind",
    "EventNotice",
    "EventStream",
    "ExpiryPolicy",
    "Final",
    "FsckFinding",
    "FsckReply",
    "GenerateRequest",
    "GenerationOutput",
    "GenerationRecord",
    "Grammar",
    "GrammarKind",
    "KvState",
    "LeftOut",
    "ListedChunk",
    "Loading",
    "LogitBias",
    "Miss",
    "MissReason",
    "ModelInfo",
    "ModelListReply",
    "OnMissing",
    "OnOverflow",
    "Pong",
    "PrefixCache",
    "PrefixReply",
    "PrivateDaemon",
    "Progress",
    "RetainedSequence",
    "Retrieved",
    "Sampling",
    "SamplingParams",
    "SessionInfo",
    "SessionOutput",
    "SessionReply",
    "SessionTurn",
    "StateStats",
    "StatsReply",
    "StatusReply",
    "Stream",
    "Summarised",
    "TextStart",
    "ThinkPolicy",
    "ThinkSpan",
    "Timings",
    "Usage",
    "chunk_reference",
    "default_endpoint",
    "endpoint_of",
]
