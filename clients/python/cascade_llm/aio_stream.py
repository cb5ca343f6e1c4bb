"""The events of a generation as they come, for asyncio."""

from __future__ import annotations

import dataclasses
from types import TracebackType
from typing import TypeVar, Union

from .connection import Connection
from .errors import CascadeError, invalid_argument, not_expected
from .exchange import Exchange
from .replies import Accepted, Delta, Final, Progress
from .requests import GenerateRequest, PrefixCache

Event = Union[Accepted, Progress, Delta, Final]

# The largest number of Deltas that may be on their way to a slow reader; the daemon joins the text
# after them. A Delta is a burst of decode steps, so a connection of 100 ms does not wait for the
# grants.
DELTAS_UNDER_WAY = 64
_DELTAS_PER_GRANT = DELTAS_UNDER_WAY // 2


_W = TypeVar("_W", GenerateRequest, PrefixCache)


def streamed(request: object, of: type[_W]) -> _W:
    """A copy of the request that streams: its Progress tells a slow daemon from a dead one. The
    caller's request stays as it is."""
    if not isinstance(request, of):
        name = type(request).__name__
        raise invalid_argument("request", f"must be a {of.__name__}, got {name}")
    return dataclasses.replace(request, stream=True)


class AsyncStream:
    """Made by AsyncClient.stream(). Iterate over it once: any number of Accepted, Progress and
    Delta, and the Final at the end. Raises CascadeError if the generation fails.

    Leaving ``async with``, or dropping the stream, cancels a generation that has not ended."""

    def __init__(self, connection: Connection, exchange: Exchange, *, grants: bool) -> None:
        self._connection = connection
        self._exchange = exchange
        self._grants = grants  # grants credit for more Deltas when some have been read
        self._deltas_read = 0  # since the last grant
        self._final: Final | None = None
        self._error: CascadeError | None = None

    @property
    def request_id(self) -> bytes:
        """The id that AsyncClient.cancel() takes."""
        return self._exchange.request_id

    @property
    def final(self) -> Final | None:
        """The end of the generation, once it was read."""
        return self._final

    def __aiter__(self) -> AsyncStream:
        return self

    async def __anext__(self) -> Event:
        if self._error is not None:
            raise self._error.again()
        if self._final is not None:
            raise StopAsyncIteration
        try:
            event = await self._exchange.next()
        except CascadeError as error:
            self._error = error
            raise
        if isinstance(event, Final):
            self._final = event
        elif not isinstance(event, (Accepted, Progress, Delta)):
            self._error = not_expected(event)
            raise self._error
        if isinstance(event, Delta):
            self._grant()
        return event

    def _grant(self) -> None:
        self._deltas_read += 1
        if self._grants and self._deltas_read >= _DELTAS_PER_GRANT:
            self._deltas_read = 0
            self._connection.grant(self._exchange, _DELTAS_PER_GRANT)

    async def result(self) -> Final:
        """Reads to the end."""
        async for _ in self:
            pass
        assert self._final is not None
        return self._final

    async def cancel(self) -> None:
        """Asks the daemon to end the generation. It then ends with a Final whose finish_reason is
        "cancelled" and which has the text so far. Does nothing if it has ended."""
        await self._connection.cancel(self._exchange)

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.cancel()

    def __del__(self) -> None:
        exchange = getattr(self, "_exchange", None)
        if exchange is not None and not exchange.ended and exchange.cancel_deadline is None:
            self._connection.abandon(exchange)
