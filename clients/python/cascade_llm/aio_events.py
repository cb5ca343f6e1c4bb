"""Events in the daemon, as they happen, for asyncio.

A SUB socket says that there is something new; what it is, is read from the daemon's log, in which
nothing is missing. A SUB socket does not show whether the daemon is there, so the log is also asked
now and then.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType

import zmq
import zmq.asyncio

from .errors import unreachable
from .frames import MESSAGE_BYTES_MAX
from .link import context_of
from .replies import EventNotice, EventsReply
from .requests import EventsRequest

# The daemon publishes the events of an endpoint at the endpoint with this suffix.
_SUFFIX = ".events"
# After this much silence the daemon is asked whether it is still there.
_SILENCE_S = 1.0
# The largest number of events of one EventsRequest.
_EVENTS_AT_ONCE = 1000
_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True)
class EventGap:
    """Events are lost for good: everything known about the daemon must be read anew. The next
    events come after the number `after` of the boot `boot_id`."""

    boot_id: str
    after: int
    kind: str = "gap"


class _Subscription:
    """Belongs to one event loop."""

    def __init__(self, endpoint: str) -> None:
        self._socket = context_of(os.getpid()).socket(zmq.SUB)
        try:
            self._socket.setsockopt(zmq.LINGER, 0)
            self._socket.setsockopt(zmq.MAXMSGSIZE, MESSAGE_BYTES_MAX)
            self._socket.setsockopt(zmq.SUBSCRIBE, b"")
            # Nothing is published over tcp: there, events are found only by the look after each
            # silence.
            if not endpoint.startswith("tcp://"):
                self._socket.connect(endpoint + _SUFFIX)
        except zmq.ZMQError as error:
            self._socket.close()
            raise unreachable(f"ZeroMQ: {error}") from None
        # The same socket without futures: whatever has arrived is read at once.
        self._arrived = zmq.Socket.shadow(self._socket.underlying)

    async def woken(self, wait_s: float) -> bool:
        """Whether anything came within `wait_s`. Takes all that has come."""
        try:
            await self._socket.poll(int(wait_s * 1000) + 1)
        except asyncio.CancelledError:
            if self._socket.closed:
                return False
            raise
        any_came = False
        while not self._socket.closed:
            try:
                self._arrived.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            any_came = True
        return any_came

    def close(self) -> None:
        """Also wakes whoever waits."""
        if not self._socket.closed:
            self._socket.close()


class AsyncEventStream:
    """Made by AsyncClient.events(). Iterate over it: it gives each EventNotice in order, none twice
    and none left out, and an EventGap where some are lost for good. It continues until close(),
    which ends the loop, or until the daemon has ended: then it raises CascadeError, unreachable. It
    may be iterated over again when there is a daemon again; it then begins with the gap, if there
    is one. One task at a time."""

    def __init__(
        self, endpoint: str, ask: Callable[[EventsRequest], Awaitable[EventsReply]]
    ) -> None:
        self._ask = ask
        self._loop = asyncio.get_running_loop()
        self._subscription = _Subscription(endpoint)
        self._ended = False
        self._ready: deque[EventNotice | EventGap] = deque()
        self._fetched = 0  # the number of the last event that was read
        self._fetched_boot_id = ""
        self._due = False  # there may be more in the log
        self._checked_at = self._loop.time()  # when the daemon was last known to be there
        self._last = 0
        self._boot_id = ""

    async def begin(self, since: int | None, boot_id: str) -> None:
        """Called once, by the client."""
        try:
            now = await self._ask(EventsRequest(after=_INT64_MAX, limit=1))
        except BaseException:
            self.end()
            raise
        self._due = since is not None
        self._fetched = self._last = now.last if since is None else since
        given = boot_id if since is not None else ""
        self._fetched_boot_id = self._boot_id = given or now.boot_id
        self._checked_at = self._loop.time()

    @property
    def last(self) -> int:
        """The number of the last event that came from here. A later events(since=…) continues after
        it."""
        return self._last

    @property
    def boot_id(self) -> str:
        """The boot to which `last` belongs."""
        return self._boot_id

    def __aiter__(self) -> AsyncEventStream:
        return self

    async def __anext__(self) -> EventNotice | EventGap:
        while True:
            event = await self.next(_SILENCE_S)
            if event is not None:
                return event
            if self._ended:
                raise StopAsyncIteration

    async def next(self, timeout_s: float) -> EventNotice | EventGap | None:
        """The next event, or None if none came within that time or the stream was closed."""
        end = self._loop.time() + timeout_s
        while not self._ready and not self._ended:
            now = self._loop.time()
            if not self._due:
                wait_s = min(end - now, self._checked_at + _SILENCE_S - now)
                self._due = await self._subscription.woken(max(wait_s, 0))
            silent_s = self._loop.time() - self._checked_at
            if not self._ended and (self._due or silent_s >= _SILENCE_S):
                await self._fetch()
            if self._loop.time() >= end and not self._due:
                break
        if not self._ready or self._ended:
            return None
        event = self._ready.popleft()
        self._last = event.after if isinstance(event, EventGap) else event.sequence
        self._boot_id = event.boot_id
        return event

    async def _fetch(self) -> None:
        reply = await self._ask(
            EventsRequest(self._fetched, self._fetched_boot_id, _EVENTS_AT_ONCE)
        )
        self._checked_at = self._loop.time()
        if reply.gap:
            after = reply.events[0].sequence - 1 if reply.events else reply.last
            self._ready.append(EventGap(reply.boot_id, after))
        self._ready.extend(reply.events)
        self._fetched = reply.events[-1].sequence if reply.events else reply.last
        self._fetched_boot_id = reply.boot_id
        self._due = self._fetched < reply.last

    async def close(self) -> None:
        """Ends the loop over the stream, also in another task."""
        self.end()

    def end(self) -> None:
        """The same, at once; call it only on the event loop's thread."""
        self._ended = True
        self._subscription.close()

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def __del__(self) -> None:
        subscription = getattr(self, "_subscription", None)
        if subscription is None or self._ended:
            return
        try:
            self._loop.call_soon_threadsafe(subscription.close)
        except RuntimeError:
            pass  # The loop is closed.
