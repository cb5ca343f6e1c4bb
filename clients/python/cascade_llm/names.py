"""The enumerations of the protocol. Messages carry their names."""

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
        """The member with that name. A name that a later daemon added becomes a value of its own,
        which equals its name but is in no list of members."""
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
    """The role of a chunk in a conversation."""

    SYSTEM_PROMPT = "SYSTEM_PROMPT"
    CONTEXT = "CONTEXT"
    OUTPUT = "OUTPUT"
    QUERY = "QUERY"
    SUMMARY = "SUMMARY"  # of the turns that a conversation left out; the daemon writes it


class OnMissing(Name):
    """What a request does if a chunk that it names, or a turn before it, no longer exists."""

    ERROR = "error"  # the request is refused
    SKIP = "skip"  # it continues without; its Final says what is missing


class OnOverflow(Name):
    """What a request does if its conversation is longer than the room that there is."""

    ERROR = "error"  # the request is refused
    DROP_OLDEST = "drop_oldest"  # the oldest turns are left out; its Final says how many
    RETRIEVE = "retrieve"  # the same, and what answers the question best is brought back
    SUMMARIZE = "summarize"  # the same, and summaries written in idle time stand in for them


class TextStart(Name):
    """Which token ids begin a text: a tokenizer with SentencePiece's rules drops a space there."""

    FIRST = "first"  # the first one
    NONE = "none"  # none: they continue a text
    EACH = "each"  # each one, as a text of its own


class ThinkPolicy(Name):
    """How much is kept of an output that has thoughts."""

    REPREFILL = "reprefill"  # the answer without thoughts, computed again in idle time
    KEEP = "keep"  # everything
    DROP = "drop"  # only the text
    SPLICE = "splice"  # an approximation: the answer's K and V, with its keys turned to their place
    MASK = "mask"  # an approximation: the same, at the positions that it had after the thoughts


class Approximation(Name):
    """What stands in K and V that were computed with thoughts which are no longer there."""

    NONE = "none"  # they are exact
    SPLICE = "splice"
    MASK = "mask"


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
    NO_STATE = "no_state"
    REUSE_OFF = "reuse_off"


class EventKind(Name):
    """What has happened to a chunk or a request."""

    CHUNK_STORED = "chunk_stored"  # registered or retained: the chunk has an id from now on
    CHUNK_USED = "chunk_used"  # a request was composed with it
    CHUNK_EVICTED = "chunk_evicted"  # its K and V are no longer in memory
    CHUNK_RESTORED = "chunk_restored"  # they are in memory again
    CHUNK_EXPIRED = "chunk_expired"  # its time was over; it is removed
    CHUNK_DELETED = "chunk_deleted"  # a client deleted it; it is removed
    REQUEST_STARTED = "request_started"  # the request has left the queue
    REQUEST_FINISHED = "request_finished"  # the request was answered, with success or not


class GrammarKind(Name):
    """The form that an answer must have."""

    JSON_OBJECT = "json_object"  # any JSON object
    JSON_SCHEMA = "json_schema"  # a document that satisfies a JSON schema
    PARTS = "parts"  # texts and JSON documents put together


class ErrorCode(Name):
    """The kinds of failure of a CascadeError."""

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
