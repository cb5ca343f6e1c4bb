"""Link: the options that the protocol asks for, and what came before a connection broke."""

from __future__ import annotations

import tempfile
import unittest

import zmq
import zmq.auth

from cascade_llm import ClientOptions
from cascade_llm.errors import CascadeError
from cascade_llm.frames import Envelope, encode
from cascade_llm.link import Link
from cascade_llm.replies import Delta
from cascade_llm.requests import StatusRequest
from support import FakeDaemon, Reply

ID = bytes(16)


def silent(envelope: Envelope, reply: Reply) -> None:
    """Never answers."""


class LinkTest(unittest.IsolatedAsyncioTestCase):
    async def test_the_socket_has_the_options_of_the_protocol(self) -> None:
        with FakeDaemon(silent) as daemon:
            options = ClientOptions(
                timeout_ms=4_000, heartbeat_interval_ms=3_000, heartbeat_timeout_ms=9_000
            )
            link = Link(daemon.endpoint, options)
            expected = {
                zmq.LINGER: 200,
                zmq.MAXMSGSIZE: 64 << 20,
                zmq.SNDTIMEO: 4_000,
                zmq.HANDSHAKE_IVL: 4_000,
                zmq.HEARTBEAT_IVL: 3_000,
                zmq.HEARTBEAT_TIMEOUT: 9_000,
            }
            for option, value in expected.items():
                self.assertEqual(link._dealer.getsockopt(option), value, option)
            link.close(abandon=True)
            link.close(abandon=True)

    async def test_what_arrived_before_the_connection_broke_is_read_first(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            for number in range(100):
                reply(Delta(str(number), False))
            daemon.break_connections(linger_ms=-1)

        with FakeDaemon(handle) as daemon:
            link = Link(daemon.endpoint, ClientOptions())
            await link.send(encode(ID, StatusRequest()))
            received = 0
            with self.assertRaises(CascadeError) as broken:
                while True:
                    await link.wait()
                    while link.receive() is not None:
                        received += 1
            self.assertEqual(received, 100)
            self.assertIn("broke", broken.exception.message)
            for _ in range(2):
                with self.assertRaises(CascadeError):
                    link.receive()
            link.close(abandon=True)
            with self.assertRaises(CascadeError):
                await link.send(encode(ID, StatusRequest()))

    async def test_a_daemon_that_reads_nothing_is_told_of(self) -> None:
        scratch = tempfile.TemporaryDirectory(prefix="cascade-link-")
        self.addCleanup(scratch.cleanup)
        _, key_file = zmq.auth.create_certificates(scratch.name, "own")
        public, secret = zmq.auth.load_certificate(key_file)
        options = ClientOptions(timeout_ms=100, server_key=public.decode(), key_file=key_file)
        context = zmq.Context()
        # Nobody ever reads there; the queues fill.
        router = context.socket(zmq.ROUTER)
        router.curve_server, router.curve_secretkey = True, secret
        router.setsockopt(zmq.RCVHWM, 1)
        router.bind("tcp://127.0.0.1:0")
        link = Link(router.getsockopt_string(zmq.LAST_ENDPOINT), options)
        with self.assertRaises(CascadeError) as full:
            for _ in range(10_000):
                await link.send([ID, bytes(100_000)])
        self.assertIn("accepts no messages", full.exception.message)
        link.close(abandon=True)
        context.destroy(linger=0)


if __name__ == "__main__":
    unittest.main()
