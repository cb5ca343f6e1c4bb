"""The frames of messages: bytes only, no sockets.

    frame 0    8 bytes: "CAS1", version, type, two bytes of flags (0)
    frame 1   16 bytes: the request id
    frame 2   a MessagePack map: the fields
    frame 3…  arrays of 32-bit words that fields refer to by number
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgpack

from . import replies, requests
from .errors import CascadeError, invalid_argument
from .fields import ArrayFrames, Problem, read_fields, write_fields
from .names import ErrorCode
from .packed import PackedError, unpack_map
from .replies import ChunkListReply

PROTOCOL_VERSION = 1
FRAMES_MAX = 4096
MESSAGE_BYTES_MAX = 64 << 20
REQUEST_ID_BYTES = 16

_MAGIC = b"CAS1"
_HEADER_BYTES = 8
_FIXED_FRAMES = 3

# The position is the type number on the wire.
MESSAGE_TYPES: tuple[type[object], ...] = (
    requests.Ping,
    requests.StatusRequest,
    requests.GenerateRequest,
    requests.CancelRequest,
    requests.ChunkPut,
    requests.ChunkListRequest,
    requests.ChunkGet,
    requests.ChunkDelete,
    requests.ChunkUpdate,
    requests.StatsRequest,
    requests.PrefixCache,
    requests.PrefixAttach,
    requests.PrefixRelease,
    requests.ChunkSearch,
    requests.FsckRequest,
    requests.BackupRequest,
    requests.SessionListRequest,
    requests.SessionGet,
    requests.SessionDelete,
    requests.PolicyGet,
    requests.PolicySet,
    requests.TokenizeRequest,
    requests.DetokenizeRequest,
    requests.ApplyTemplateRequest,
    requests.EventsRequest,
    requests.DeltaCredit,
    replies.Pong,
    replies.StatusReply,
    replies.Accepted,
    replies.Progress,
    replies.Delta,
    replies.Final,
    replies.ChunkReply,
    replies.PrefixReply,
    replies.ChunkListReply,
    replies.ChunkSearchReply,
    replies.StatsReply,
    replies.FsckReply,
    replies.BackupReply,
    replies.SessionListReply,
    replies.SessionReply,
    replies.PolicyReply,
    replies.TokenizeReply,
    replies.DetokenizeReply,
    replies.ApplyTemplateReply,
    replies.EventNotice,
    replies.EventsReply,
    replies.Ack,
    replies.ErrorReply,
    requests.ModelListRequest,
    requests.ModelLoad,
    requests.ModelUnload,
    replies.ModelListReply,
    replies.ModelReply,
)
_ABOUT_MODELS = (requests.ModelListRequest, requests.ModelLoad, requests.ModelUnload)
_NUMBERS = {message: number for number, message in enumerate(MESSAGE_TYPES)}


@dataclass(frozen=True)
class Envelope:
    request_id: bytes
    message: object


def encode(request_id: bytes, message: object, model: str = "") -> list[bytes]:
    """The frames of a message for `model` ("": the default one). Raises CascadeError
    invalid_argument, with the field, if a field cannot hold its value, and for a message beyond 64
    MiB."""
    arrays: list[bytes] = []
    try:
        fields = write_fields(message, arrays)
        if model and not isinstance(message, _ABOUT_MODELS):
            fields["model"] = model
        body = msgpack.packb(fields, use_bin_type=True)
    except Problem as problem:
        raise invalid_argument(problem.path, problem.what) from None
    header = _MAGIC + bytes((PROTOCOL_VERSION, _NUMBERS[type(message)], 0, 0))
    frames = [header, request_id, body, *arrays]
    _check_sizes(frames)
    return frames


def decode(frames: Sequence[bytes]) -> Envelope:
    """The message of frames from outside. Raises CascadeError invalid_argument, or unsupported
    (field "version" or "type"), with the field that is wrong."""
    _check_sizes(frames)
    number = _check_header(frames[0])
    try:
        fields = unpack_map(frames[2])
    except PackedError as error:
        raise invalid_argument("body", str(error)) from None
    try:
        arrays = ArrayFrames(frames[_FIXED_FRAMES:])
        message = read_fields(MESSAGE_TYPES[number], fields, arrays)
        if isinstance(message, ChunkListReply):
            _check_chunk_list(message)
    except Problem as problem:
        raise invalid_argument(problem.path, problem.what) from None
    return Envelope(bytes(frames[1]), message)


def peek_request_id(frames: Sequence[bytes]) -> bytes:
    """The request id of frames that decode() refused; zeros if there is none."""
    if len(frames) > 1 and len(frames[1]) == REQUEST_ID_BYTES:
        return bytes(frames[1])
    return bytes(REQUEST_ID_BYTES)


def _check_sizes(frames: Sequence[bytes]) -> None:
    if not _FIXED_FRAMES <= len(frames) <= FRAMES_MAX:
        raise invalid_argument(
            "frames",
            f"a message has between {_FIXED_FRAMES} and {FRAMES_MAX} frames, got {len(frames)}",
        )
    size = sum(map(len, frames))
    if size > MESSAGE_BYTES_MAX:
        raise invalid_argument(
            "frames", f"have {size} bytes, more than the limit of {MESSAGE_BYTES_MAX}"
        )
    if len(frames[1]) != REQUEST_ID_BYTES:
        raise invalid_argument(
            "request_id", f"must have {REQUEST_ID_BYTES} bytes, got {len(frames[1])}"
        )


def _check_header(header: bytes) -> int:
    """Returns the type number."""
    if len(header) != _HEADER_BYTES:
        raise invalid_argument("header", f"must have {_HEADER_BYTES} bytes, got {len(header)}")
    if header[:4] != _MAGIC:
        raise invalid_argument("magic", "the message does not begin with CAS1")
    version, number = header[4], header[5]
    if version != PROTOCOL_VERSION:
        raise CascadeError(
            ErrorCode.UNSUPPORTED,
            "version",
            f"protocol version {version} is not supported; this is version {PROTOCOL_VERSION}",
        )
    if header[6:] != b"\0\0":
        raise invalid_argument("flags", "must be 0")
    if number >= len(MESSAGE_TYPES):
        raise CascadeError(ErrorCode.UNSUPPORTED, "type", f"message type {number} is unknown")
    return number


def _check_chunk_list(reply: ChunkListReply) -> None:
    counted = sum(chunk.token_count for chunk in reply.chunks)
    if counted != len(reply.token_ids):
        what = "fewer" if counted > len(reply.token_ids) else "more"
        raise Problem(f"has {what} ids than the chunks count").inside("token_ids")
    if len(reply.token_counts) != len(reply.chunks):
        raise Problem("does not have one for every chunk").inside("token_counts")
