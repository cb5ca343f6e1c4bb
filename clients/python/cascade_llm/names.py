"""The enumerations of the protocol. They travel by name."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

_N = TypeVar("_N", bound="Name")


class Name(str, Enum):
    """A member is equal to its name: ``ChunkType.OUTPUT == "OUTPUT"``."""

    def __str__(self) -> str:
        return str(self.value)

    @classmethod
    def from_wire(cls: type[_N], name: str) -> _N:
        """The member of that name. A name that a later daemon added becomes a value of its own,
        which is equal to its name and in no list of members."""
        try:
            return cls(name)
        except ValueError:
            unknown = str.__new__(cls, name)
            unknown._name_ = name
            unknown._value_ = name
            return unknown

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self).from_wire, (str(self.value),)


class ChunkType(Name):
    """What a chunk is in a conversation."""

    SYSTEM_PROMPT = "SYSTEM_PROMPT"
    CONTEXT = "CONTEXT"
    OUTPUT = "OUTPUT"
    QUERY = "QUERY"


class OnMissing(Name):
    """What a request does about a chunk, or a turn before it, that is gone."""

    ERROR = "error"  # it is refused
    SKIP = "skip"  # it goes on without; its Final says without which


class TextStart(Name):
    """Which token ids begin a text: a tokenizer with SentencePiece's rules drops a space there."""

    FIRST = "first"  # the first one
    NONE = "none"  # none: they go on with a text
    EACH = "each"  # each, as a text of its own


class ThinkPolicy(Name):
    """What is kept of an output that has thoughts."""

    REPREFILL = "reprefill"  # the answer without them, computed again in idle time
    KEEP = "keep"  # all
    DROP = "drop"  # the text only


class KvState(Name):
    """Whether the K and V of a chunk are in memory."""

    NONE = "none"
    PENDING = "pending"
    READY = "ready"


class MissReason(Name):
    """Why a part of a prompt had to be computed."""

    NONE = "none"
    NEW = "new"
    DIFFERS = "differs"
    EVICTED = "evicted"
    DROPPED = "dropped"
    DELETED = "deleted"
    EXPIRED = "expired"
    OTHER_MODEL = "other_model"
    REUSE_OFF = "reuse_off"


class EventKind(Name):
    """What has happened to a chunk or a request."""

    CHUNK_STORED = "chunk_stored"  # registered, or retained: it has an id from now on
    CHUNK_USED = "chunk_used"  # a request was composed with it
    CHUNK_EVICTED = "chunk_evicted"  # its K and V are not in memory any more
    CHUNK_RESTORED = "chunk_restored"  # they are again
    CHUNK_EXPIRED = "chunk_expired"  # its time was over; it is gone
    CHUNK_DELETED = "chunk_deleted"  # a client deleted it; it is gone
    REQUEST_STARTED = "request_started"  # it has left the queue
    REQUEST_FINISHED = "request_finished"  # it was answered, with success or not


class GrammarKind(Name):
    """What form an answer must have."""

    JSON_OBJECT = "json_object"  # any JSON object
    JSON_SCHEMA = "json_schema"  # a document for which a JSON schema holds
    PARTS = "parts"  # texts and JSON documents put together


class ErrorCode(Name):
    """What kind of failure a CascadeError is."""

    INVALID_ARGUMENT = "invalid_argument"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    UNSUPPORTED = "unsupported"
    DATA_CORRUPT = "data_corrupt"
    IO = "io"
    INTERNAL = "internal"
    CANCELLED = "cancelled"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    UNAVAILABLE = "unavailable"
