"""Events in the daemon, as they happen."""

from __future__ import annotations

from types import TracebackType

from .aio_events import AsyncEventStream, EventGap
from .loop_thread import LoopThread
from .replies import EventNotice


class EventStream:
    """Made by Client.events(). Iterate over it: it gives each EventNotice in order, none twice and
    none left out, and an EventGap where some are lost for good. It continues until close(), which
    ends the loop, or until the daemon has ended: then it raises CascadeError, unreachable. It may
    be iterated over again when there is a daemon again; it then begins with the gap, if there is
    one. One thread at a time; close() from any."""

    def __init__(self, client: object, thread: LoopThread, stream: AsyncEventStream) -> None:
        self._client = client  # keeps open a client that nobody else refers to
        self._thread = thread
        self._stream = stream

    @property
    def last(self) -> int:
        """The number of the last event that came from here. A later events(since=…) continues after
        it."""
        return self._stream.last

    @property
    def boot_id(self) -> str:
        """The boot to which `last` belongs."""
        return self._stream.boot_id

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> EventNotice | EventGap:
        try:
            return self._thread.run(_next(self._stream))
        except StopAsyncIteration:
            raise StopIteration from None

    def next(self, timeout_s: float) -> EventNotice | EventGap | None:
        """The next event, or None if none came within that time or the stream was closed."""
        return self._thread.run(self._stream.next(timeout_s))

    def close(self) -> None:
        """Ends the loop over the stream, also in another thread."""
        self._thread.run(self._stream.close())

    def __enter__(self) -> EventStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


async def _next(stream: AsyncEventStream) -> EventNotice | EventGap:
    return await stream.__anext__()
