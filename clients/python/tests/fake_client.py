"""Tests of Client with a FakeDaemon, and what such daemons do most of the time."""

from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Callable

from cascade_llm import Client, ClientOptions, GenerateRequest
from cascade_llm.errors import CascadeError
from cascade_llm.frames import Envelope
from cascade_llm.replies import Accepted, Ack, Delta, ErrorInfo, ErrorReply
from cascade_llm.requests import CancelRequest
from support import FakeDaemon, Reply, final_of


def echo(envelope: Envelope, reply: Reply) -> None:
    """Answers a prompt with itself, at once."""
    assert isinstance(envelope.message, GenerateRequest)
    reply(Accepted(0))
    reply(final_of(envelope.message.prompt or ""))


def until_cancelled() -> Callable[[Envelope, Reply], None]:
    """Answers with some text, and ends when it is cancelled."""
    running: dict[bytes, Reply] = {}

    def handle(envelope: Envelope, reply: Reply) -> None:
        if isinstance(envelope.message, CancelRequest):
            target = running.pop(envelope.message.target, None)
            if target is None:
                return reply(ErrorReply(ErrorInfo("not_found", "target", "does not run"), 0))
            reply(Ack())
            return target(final_of("first", "cancelled"))
        running[envelope.request_id] = reply
        reply(Accepted(0))
        return reply(Delta("first", False))

    return handle


def silent(envelope: Envelope, reply: Reply) -> None:
    """Never answers."""


def be(client: Client, **options: int) -> None:
    """From now on it waits so long. Before, while it connected, it was patient."""
    connection = client._client._connection
    assert connection is not None
    connection._options = dataclasses.replace(connection._options, **options)


class ClientTest(unittest.TestCase):
    def start(
        self, handler: Callable[[Envelope, Reply], None], options: ClientOptions | None = None
    ) -> tuple[FakeDaemon, Client]:
        daemon = FakeDaemon(handler)
        self.addCleanup(daemon.close)
        client = Client(daemon.endpoint, options=options)
        self.addCleanup(client.close)
        return daemon, client

    def assert_fails(
        self, work: Callable[[], object], code: str, field: str, part: str = ""
    ) -> CascadeError:
        with self.assertRaises(CascadeError) as failed:
            work()
        error = failed.exception
        self.assertEqual((error.code, error.field), (code, field), error)
        self.assertIn(part, error.message)
        return error
