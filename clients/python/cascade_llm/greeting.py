"""Whether a daemon serves already: asked again and again by who has started it."""

from __future__ import annotations

import zmq

from .exchange import new_request_id
from .frames import decode, encode
from .replies import Pong
from .requests import Ping

_ANSWER_MS = 1_000


class Greeting:
    """Blocks; any thread, one at a time."""

    def __init__(self, endpoint: str) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._dealer = self._context.socket(zmq.DEALER)
        self._dealer.setsockopt(zmq.LINGER, 0)
        self._dealer.connect(endpoint)

    def is_answered(self) -> bool:
        """False: the daemon loads its model still, or is silent for a second. Raises CascadeError
        for what is no message of the protocol."""
        self._dealer.send_multipart(encode(new_request_id(), Ping(), ""))
        if not self._dealer.poll(_ANSWER_MS):
            return False
        return isinstance(decode(self._dealer.recv_multipart()).message, Pong)

    def close(self) -> None:
        self._dealer.close()
        self._context.term()
