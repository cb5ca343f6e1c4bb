"""One connection to the daemon: its requests in flight, the messages for each, and their
deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from .errors import CascadeError, unreachable
from .exchange import Exchange, Kind, new_request_id
from .frames import decode, encode, peek_request_id
from .link import Link
from .names import ErrorCode
from .options import ClientOptions
from .replies import Accepted, Delta, ErrorReply, Final, Pong, PrefixReply, Progress
from .requests import CancelRequest, DeltaCredit, Ping

# A message with an error in one of these fields is not of this protocol, whichever request it is
# for. Any other error in a message is an error of its request only.
_ENVELOPE = frozenset(("frames", "header", "magic", "flags", "request_id"))
# The number of messages handled before other tasks of the loop have their turn.
_MESSAGES_AT_ONCE = 64
# How often deadlines are checked while requests are in flight; more often if options are short.
_LOOK_S = 0.5


class Connection:
    """Belongs to the event loop that made it. When it is lost, every request in flight and every
    later one fails; `lost` is the error."""

    def __init__(self, endpoint: str, options: ClientOptions) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._link = Link(endpoint, options)
        self._in_flight: dict[bytes, Exchange] = {}
        self._heard_at = self._loop.time()  # when the last message of any kind came
        self._watched_from = self._heard_at  # something has been in flight all the time since then
        self._ping: Exchange | None = None  # the watch's own; not answered yet
        self._look: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.lost: CascadeError | None = None
        self.boot_id = ""
        self.daemon_version = ""
        self._spawn(self._read())

    # The actions of a client.

    async def start(self, message: object, kind: Kind) -> Exchange:
        """Sends a request."""
        exchange = Exchange(kind, self._loop.time())
        frames = encode(exchange.request_id, message, self._options.model)
        if self.lost is not None:
            raise self.lost.again()
        self._in_flight[exchange.request_id] = exchange
        self._watch()
        try:
            await self._link.send(frames)
        except CascadeError as error:
            self.lose(error)
            raise
        except asyncio.CancelledError:
            self._in_flight.pop(exchange.request_id, None)
            raise
        return exchange

    async def call(self, message: object, kind: Kind = Kind.CALL) -> object:
        """Returns the one answer to a request. An ErrorReply is raised as CascadeError."""
        exchange = await self.start(message, kind)
        try:
            return await exchange.next()
        finally:
            self._in_flight.pop(exchange.request_id, None)

    async def cancel(self, exchange: Exchange) -> None:
        """Asks the daemon to end a generation or a prefix, which then ends like any other. Does
        nothing if it has ended."""
        if exchange.ended or exchange.cancel_deadline is not None or self.lost is not None:
            return
        exchange.cancel_deadline = self._loop.time() + self._options.timeout_ms / 1000
        await self._send_aside(CancelRequest(exchange.request_id))

    def grant(self, exchange: Exchange, deltas: int) -> None:
        """Lets `deltas` more Deltas come. Does nothing if the generation has ended."""
        if not exchange.ended and self.lost is None:
            self._spawn(self._send_aside(DeltaCredit(exchange.request_id, deltas=deltas)))

    def abandon(self, exchange: Exchange) -> None:
        """Like cancel(), for when nobody waits for the end any more. Any thread."""

        def cancel() -> None:
            if not exchange.ended and self.lost is None:
                self._spawn(self.cancel(exchange))

        try:
            self._loop.call_soon_threadsafe(cancel)
        except RuntimeError:
            pass  # The loop is closed, and the connection with it.

    def look(self) -> None:
        """Handles everything that has arrived so far, including the loss of the connection."""
        try:
            while self.lost is None and (frames := self._link.receive()) is not None:
                self._handle(frames)
        except CascadeError as error:
            self.lose(error)

    def learn(self, pong: Pong) -> None:
        """Raises if the boot id differs from the one before: the daemon has forgotten this
        connection's requests, and the connection must be given up."""
        restarted = bool(self.boot_id) and pong.boot_id != self.boot_id
        self.boot_id = pong.boot_id
        self.daemon_version = pong.version
        if restarted:
            raise unreachable("the daemon was restarted; the request is lost")

    def lose(self, error: CascadeError, *, abandon: bool = True) -> None:
        """Gives the connection up: all requests in flight fail with `error`."""
        if self.lost is not None:
            return
        self.lost = error
        if self._look is not None:
            self._look.cancel()
        in_flight, self._in_flight = self._in_flight, {}
        for exchange in in_flight.values():
            exchange.end(error)
        self._link.close(abandon=abandon)
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    # Messages that arrive.

    async def _read(self) -> None:
        try:
            while self.lost is None:
                await self._link.wait()
                await self._read_arrived()
        except CascadeError as error:
            self.lose(error)
        except Exception as error:
            self.lose(CascadeError(ErrorCode.INTERNAL, "client", repr(error)))
            raise

    async def _read_arrived(self) -> None:
        handled = 0
        while self.lost is None and (frames := self._link.receive()) is not None:
            self._handle(frames)
            handled += 1
            if handled % _MESSAGES_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _handle(self, frames: list[bytes]) -> None:
        now = self._loop.time()
        self._heard_at = now
        exchange = self._in_flight.get(peek_request_id(frames))
        try:
            message = decode(frames).message
        except CascadeError as error:
            problem = f"the daemon sent a message that does not follow the protocol: {error}"
            if error.field in _ENVELOPE or (exchange and exchange is self._ping):
                raise unreachable(problem) from None
            if exchange is None:
                return  # another message for a request that has failed already
            later = error.code == ErrorCode.UNSUPPORTED  # a daemon of another version
            code = ErrorCode.UNSUPPORTED if later else ErrorCode.INTERNAL
            self._fail(exchange, CascadeError(code, "reply", problem))
            return
        if exchange is None:
            return  # the Ack of a cancellation, or an answer that came too late
        if exchange is self._ping:
            self._in_flight.pop(exchange.request_id)
            self._ping = None
            if isinstance(message, Pong):
                self.learn(message)
        elif isinstance(message, ErrorReply):
            what = message.error
            problem = (what.code, what.field, what.message, message.retry_after_ms)
            self._end(exchange, CascadeError(*problem, message.loading))
        elif exchange.kind != Kind.WORK or isinstance(message, (Final, PrefixReply)):
            self._end(exchange, message)
        elif isinstance(message, (Accepted, Progress, Delta)):
            exchange.deliver(message, now)
        else:
            problem = f"the daemon answered with a {type(message).__name__}"
            self._fail(exchange, CascadeError(ErrorCode.INTERNAL, "reply", problem))

    def _end(self, exchange: Exchange, last: object) -> None:
        self._in_flight.pop(exchange.request_id, None)
        exchange.end(last)

    def _fail(self, exchange: Exchange, error: CascadeError) -> None:
        """Ends an exchange with an error; cancels work that the daemon may still do for it."""
        if exchange.kind == Kind.WORK:
            self._spawn(self._send_aside(CancelRequest(exchange.request_id)))
        self._end(exchange, error)

    # Deadlines.

    def _watch(self) -> None:
        """Checks the deadlines now and then, as long as anything is in flight."""
        if self._look is not None:
            return
        self._watched_from = self._loop.time()
        self._look_later()

    def _look_later(self) -> None:
        options = self._options
        shortest_ms = min(options.timeout_ms, options.silence_ms, options.lost_ms)
        self._look = self._loop.call_later(min(_LOOK_S, shortest_ms / 4000), self._keep_watch)

    def _keep_watch(self) -> None:
        self._look = None
        # A loop that was busy with something else has not read messages that may have come long
        # ago.
        self.look()
        if self.lost is not None or not self._in_flight:
            return
        now = self._loop.time()
        for exchange in list(self._in_flight.values()):
            self._watch_over(exchange, now)
            if self.lost is not None:
                return
        silence_ms = (now - max(self._heard_at, self._watched_from)) * 1000
        if self._ping is None and silence_ms > self._options.silence_ms:
            self._ping = Exchange(Kind.CALL, now)
            self._in_flight[self._ping.request_id] = self._ping
            self._spawn(self._send_aside(Ping(), self._ping.request_id))
        self._look_later()

    def _watch_over(self, exchange: Exchange, now: float) -> None:
        options = self._options
        waited_ms = (now - exchange.sent_at) * 1000
        if exchange.kind == Kind.CALL and waited_ms > options.timeout_ms:
            late = unreachable(f"the daemon did not answer within {options.timeout_ms} ms")
            # If nothing at all came from the daemon, it has ended; a busy daemon answers other
            # requests.
            if exchange is self._ping or self._heard_at <= exchange.sent_at:
                self.lose(late)
            else:
                self._end(exchange, late)
        elif exchange.cancel_deadline is not None and now > exchange.cancel_deadline:
            self.lose(
                unreachable(
                    f"the daemon did not confirm a cancellation within {options.timeout_ms} ms"
                )
            )
        elif exchange.kind == Kind.WORK and (now - exchange.heard_at) * 1000 > options.lost_ms:
            self.lose(
                unreachable(
                    f"nothing was heard of a generation for {options.lost_ms} ms; "
                    "the daemon has lost it"
                )
            )

    async def _send_aside(self, message: object, request_id: bytes | None = None) -> None:
        """Sends a message for whose answer nobody waits."""
        if self.lost is not None:
            return
        try:
            model = self._options.model
            await self._link.send(encode(request_id or new_request_id(), message, model))
        except CascadeError as error:
            self.lose(error)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
