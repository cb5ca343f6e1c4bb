"""Asks a daemon again and again whether it serves yet."""

from __future__ import annotations

import asyncio

import zmq

from .connection import Connection
from .errors import CascadeError
from .exchange import new_request_id
from .frames import decode, encode
from .replies import Pong
from .requests import Ping

_ANSWER_MS = 1_000
# Bounds of the pause between two Pings to a daemon that is loading its model.
_LOADING_PAUSE_MS_MIN = 10
_LOADING_PAUSE_MS_MAX = 1_000


async def greeted(connection: Connection, timeout_ms: int) -> object:
    """The answer to a Ping. Waits for a daemon that is loading its model, within the timeout."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeout_ms / 1000
    while True:
        try:
            return await connection.call(Ping())
        except CascadeError as error:
            left = deadline - clock()
            if error.loading is None or left <= 0:
                raise
            pause = min(max(error.retry_after_ms, _LOADING_PAUSE_MS_MIN), _LOADING_PAUSE_MS_MAX)
            await asyncio.sleep(min(pause / 1000, left))


class Greeting:
    """Calls block. Any thread may use it, one at a time."""

    def __init__(self, endpoint: str) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._dealer = self._context.socket(zmq.DEALER)
        self._dealer.setsockopt(zmq.LINGER, 0)
        self._dealer.connect(endpoint)

    def is_answered(self) -> bool:
        """False if the daemon is still loading its model, or is silent for a second. Raises
        CascadeError for a message that is not of the protocol."""
        self._dealer.send_multipart(encode(new_request_id(), Ping(), ""))
        if not self._dealer.poll(_ANSWER_MS):
            return False
        return isinstance(decode(self._dealer.recv_multipart()).message, Pong)

    def close(self) -> None:
        self._dealer.close()
        self._context.term()
