"""A request in flight, and the messages that came for it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from .errors import CascadeError, not_expected
from .frames import REQUEST_ID_BYTES


_R = TypeVar("_R")


class Kind(Enum):
    """How a request is watched over."""

    CALL = "call"  # one answer, within options.timeout_ms
    SLOW_CALL = "slow call"  # one answer, as long as the daemon answers a Ping
    WORK = "work"  # a generation or a prefix: events, then the end


def new_request_id() -> bytes:
    return os.urandom(REQUEST_ID_BYTES)


@dataclass(eq=False)
class Exchange:
    """Times are those of the event loop."""

    kind: Kind
    sent_at: float
    request_id: bytes = field(default_factory=new_request_id)
    heard_at: float = 0.0
    cancel_deadline: float | None = None  # set when it was cancelled
    ended: bool = False
    _inbox: asyncio.Queue[object] = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        self.heard_at = self.sent_at

    def deliver(self, message: object, now: float) -> None:
        self.heard_at = now
        self._inbox.put_nowait(message)

    def end(self, last: object) -> None:
        """`last` is the last message, or the CascadeError with which the request failed."""
        self.ended = True
        self._inbox.put_nowait(last)

    async def next(self) -> object:
        """The next message; after the last one, the last one again. Raises the error of a failed
        request."""
        message = await self._inbox.get()
        if self.ended and self._inbox.empty():
            self._inbox.put_nowait(message)
        if isinstance(message, CascadeError):
            raise message.again()
        return message


def as_reply(reply: type[_R], answer: object) -> _R:
    """The answer, if it is one of that type."""
    if not isinstance(answer, reply):
        raise not_expected(answer)
    return answer
