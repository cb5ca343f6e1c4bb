"""A generation as its events come."""

from __future__ import annotations

import asyncio
from types import TracebackType

from .aio_stream import AsyncStream, Event
from .loop_thread import LoopThread
from .replies import Final


class Stream:
    """Made by Client.stream(). Iterate over it once: Accepted, Progress and Delta in any number,
    and in the end the Final. Raises CascadeError if the generation fails.

    Leaving ``with``, or dropping the stream, cancels a generation that has not ended. cancel() may
    be called from any thread, also while another one iterates."""

    def __init__(self, client: object, thread: LoopThread, stream: AsyncStream) -> None:
        self._client = client  # a client that nobody else refers to stays open
        self._thread = thread
        self._stream = stream

    @property
    def request_id(self) -> bytes:
        """What Client.cancel() names it by."""
        return self._stream.request_id

    @property
    def final(self) -> Final | None:
        """Its end, once that was read."""
        return self._stream.final

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        try:
            return self._thread.run(_next(self._stream))
        except StopAsyncIteration:
            raise StopIteration from None

    def result(self, timeout_s: float | None = None) -> Final:
        """Reads to the end. After `timeout_s` TimeoutError; the generation goes on then, and may be
        waited for again."""
        return self._thread.run(asyncio.wait_for(self._stream.result(), timeout_s))

    def cancel(self) -> None:
        """Asks the daemon to end it. It then ends with a Final whose finish_reason is "cancelled"
        and which holds the text so far. Does nothing if it has ended."""
        self._thread.run(self._stream.cancel())

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()


async def _next(stream: AsyncStream) -> Event:
    return await stream.__anext__()
