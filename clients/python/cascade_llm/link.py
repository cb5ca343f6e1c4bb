"""The DEALER socket to the daemon, and a monitor that reports when the connection breaks."""

from __future__ import annotations

import functools
import os
import sys

import zmq
import zmq.asyncio

from .client_keys import client_keys
from .endpoint import probe_endpoint
from .errors import unreachable
from .frames import FRAMES_MAX, MESSAGE_BYTES_MAX
from .options import ClientOptions

# Long enough for a last CancelRequest to leave; nobody waits longer for a daemon that has ended.
_LINGER_MS = 200
# The sockets of all clients of a process; each client has four. The limit of open files is reached
# earlier.
_SOCKETS_MAX = 65_535


@functools.lru_cache(maxsize=1)
def context_of(_pid: int) -> zmq.asyncio.Context:
    """ZeroMQ's threads do not outlive a fork: each process has its own context."""
    context = zmq.asyncio.Context()
    context.set(zmq.MAX_SOCKETS, _SOCKETS_MAX)
    return context


def _set_options(dealer: zmq.asyncio.Socket, options: ClientOptions) -> None:
    dealer.setsockopt(zmq.LINGER, _LINGER_MS)
    dealer.setsockopt(zmq.MAXMSGSIZE, MESSAGE_BYTES_MAX)
    dealer.setsockopt(zmq.SNDTIMEO, options.timeout_ms)
    dealer.setsockopt(zmq.HEARTBEAT_IVL, options.heartbeat_interval_ms)
    dealer.setsockopt(zmq.HEARTBEAT_TIMEOUT, options.heartbeat_timeout_ms)
    dealer.setsockopt(zmq.HANDSHAKE_IVL, options.timeout_ms)


class Link:
    """One connection, for one event loop. Every error is a CascadeError, unreachable; after it the
    link can no longer be used."""

    def __init__(self, endpoint: str, options: ClientOptions) -> None:
        """Connects in the background: only an answer shows that a daemon is there."""
        probe_endpoint(endpoint)
        keys = client_keys(endpoint, options)
        context = context_of(os.getpid())
        dealer = None
        try:
            dealer = context.socket(zmq.DEALER)
            _set_options(dealer, options)
            if keys:
                dealer.curve_serverkey, dealer.curve_publickey, dealer.curve_secretkey = keys
            self._monitor = dealer.get_monitor_socket(
                zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_FAILED_AUTH
            )
            dealer.connect(endpoint)
        except zmq.ZMQError as error:
            if dealer is not None:
                dealer.close(linger=0)
            raise unreachable(f"ZeroMQ: {error}") from None
        self._dealer = dealer
        self._poller = zmq.asyncio.Poller()
        self._poller.register(self._dealer, zmq.POLLIN)
        self._poller.register(self._monitor, zmq.POLLIN)
        # The same sockets without futures: whatever has arrived is read at once.
        self._arrived = zmq.Socket.shadow(self._dealer.underlying)
        self._monitored = zmq.Socket.shadow(self._monitor.underlying)
        self._broken = ""

    async def wait(self) -> None:
        """Waits until something has arrived, or the connection has broken."""
        await self._poller.poll()

    def receive(self) -> list[bytes] | None:
        """A message that has arrived, or None. Raises if the connection is broken and everything
        that had arrived before was read, and for a message beyond the limits."""
        while True:
            try:
                return self._receive_parts()
            except zmq.Again:
                if self._broken:
                    raise unreachable(self._broken) from None
            except zmq.ZMQError as error:
                raise unreachable(f"ZeroMQ: {error}") from None
            self._broken = self._monitor_reports()
            if not self._broken:
                return None

    def _receive_parts(self) -> list[bytes]:
        frames = [self._arrived.recv(zmq.NOBLOCK)]
        size = len(frames[0])
        while self._arrived.getsockopt(zmq.RCVMORE):
            frames.append(self._arrived.recv(zmq.NOBLOCK))
            size += len(frames[-1])
            if len(frames) > FRAMES_MAX or size > MESSAGE_BYTES_MAX:
                raise unreachable("the daemon sent a message beyond the limits of the protocol")
        return frames

    def _monitor_reports(self) -> str:
        """The reason why the connection can no longer be used; empty if it can."""
        try:
            event = self._monitored.recv_multipart(zmq.NOBLOCK)[0]
        except zmq.Again:
            return ""
        if int.from_bytes(event[:2], sys.byteorder) == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            return "the daemon does not know this client's key"
        return "the connection to the daemon broke"

    async def send(self, frames: list[bytes]) -> None:
        """Waits if the queue to the daemon is full, up to options.timeout_ms."""
        try:
            await self._dealer.send_multipart(frames)
        except zmq.Again:
            raise unreachable("the daemon accepts no messages") from None
        except zmq.ZMQError as error:
            raise unreachable(f"ZeroMQ: {error}") from None

    def close(self, *, abandon: bool) -> None:
        """With `abandon`, drops the messages that are not sent yet; otherwise whoever listens there
        next would get them."""
        if self._dealer.closed:
            return
        self._dealer.disable_monitor()
        self._monitor.close(linger=0)
        self._dealer.close(linger=0 if abandon else _LINGER_MS)
