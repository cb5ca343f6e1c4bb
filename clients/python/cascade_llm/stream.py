"""The events of a generation as they come."""

from __future__ import annotations

import asyncio
from types import TracebackType

from .aio_stream import AsyncStream, Event
from .loop_thread import LoopThread
from .replies import Final


class Stream:
    """Made by Client.stream(). Iterate over it once: any number of Accepted, Progress and Delta,
    and the Final at the end. Raises CascadeError if the generation fails.

    Leaving ``with``, or dropping the stream, cancels a generation that has not ended. cancel() may
    be called from any thread, even while another one iterates."""

    def __init__(self, client: object, thread: LoopThread, stream: AsyncStream) -> None:
        self._client = client  # keeps open a client that nobody else refers to
        self._thread = thread
        self._stream = stream

    @property
    def request_id(self) -> bytes:
        """The id that Client.cancel() takes."""
        return self._stream.request_id

    @property
    def final(self) -> Final | None:
        """The end of the generation, once it was read."""
        return self._stream.final

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        try:
            return self._thread.run(_next(self._stream))
        except StopAsyncIteration:
            raise StopIteration from None

    def result(self, timeout_s: float | None = None) -> Final:
        """Reads to the end. Raises TimeoutError after `timeout_s`; the generation continues then,
        and may be waited for again."""
        return self._thread.run(asyncio.wait_for(self._stream.result(), timeout_s))

    def cancel(self) -> None:
        """Asks the daemon to end the generation. It then ends with a Final whose finish_reason is
        "cancelled" and which has the text so far. Does nothing if it has ended."""
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
