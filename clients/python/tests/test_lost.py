"""Client with daemons that go away, fall silent, were restarted, or answer wrongly."""

from __future__ import annotations

import os
import random
import threading
import unittest
from collections.abc import Callable

from cascade_llm import GenerateRequest, PrefixCache
from cascade_llm.errors import CascadeError
from cascade_llm.frames import Envelope, encode
from cascade_llm.replies import (
    Accepted,
    Ack,
    ChunkListReply,
    Delta,
    FsckReply,
    Miss,
    Pong,
    PrefixReply,
    SessionListReply,
)
from cascade_llm.requests import CancelRequest, FsckRequest, SessionListRequest
from fake_client import ClientTest, be, echo, silent
from support import PATIENCE_S, PATIENT, Reply, final_of, new_seed, prompt, until


class LostTest(ClientTest):
    def test_a_daemon_that_goes_away_fails_all_in_flight(self) -> None:
        arrived = threading.Semaphore(0)

        def handle(envelope: Envelope, reply: Reply) -> None:
            reply(Delta("begun", False))
            arrived.release()

        daemon, client = self.start(handle)
        streams = [client.stream(prompt("x")) for _ in range(3)]
        for _ in streams:
            arrived.acquire(timeout=PATIENCE_S)
        daemon.close()
        for stream in streams:
            self.assertEqual(next(stream), Delta("begun", False))  # what came before is there
            error = self.assert_fails(stream.result, "unavailable", "endpoint", "broke")
            self.assertTrue(error.retryable and error.unreachable)
        self.assert_fails(client.ping, "unavailable", "endpoint", "no such socket")

    def test_the_next_call_connects_again(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            assert isinstance(envelope.message, GenerateRequest)
            if envelope.message.prompt == "break":
                return daemon.break_connections()
            return echo(envelope, reply)

        daemon, client = self.start(handle)
        self.assert_fails(
            lambda: client.generate(prompt("break")), "unavailable", "endpoint", "broke"
        )
        self.assertEqual(client.generate(prompt("x")).text, "x")

    def test_another_boot_id_fails_all_in_flight(self) -> None:
        # As if only the part that clients talk to had been restarted: the connection stays.
        daemon, client = self.start(silent)
        self.assertEqual((client.boot_id, client.daemon_version), ("boot_1", "test"))
        stream = client.stream(prompt("x"))
        daemon.boot_id = "boot_2"
        self.assert_fails(client.ping, "unavailable", "endpoint", "was restarted")
        self.assert_fails(stream.result, "unavailable", "endpoint", "was restarted")
        self.assertEqual(client.ping(), Pong("boot_2", "test"))
        self.assertEqual(client.boot_id, "boot_2")

    def test_silence_is_asked_after_and_a_restart_found(self) -> None:
        daemon, client = self.start(silent, PATIENT)
        be(client, silence_ms=30)
        stream = client.stream(prompt("x"))
        daemon.boot_id = "boot_2"
        self.assert_fails(stream.result, "unavailable", "endpoint", "was restarted")

    def test_a_daemon_that_is_silent_is_lost(self) -> None:
        daemon, client = self.start(silent, PATIENT)
        daemon.answers_pings = False
        be(client, silence_ms=30, timeout_ms=100)
        stream = client.stream(prompt("x"))
        self.assert_fails(stream.result, "unavailable", "endpoint", "did not answer")

    def test_a_generation_that_the_daemon_forgot_is_lost(self) -> None:
        daemon, client = self.start(silent, PATIENT)
        be(client, silence_ms=10, lost_ms=200)
        self.assert_fails(
            lambda: client.generate(prompt("x")), "unavailable", "endpoint", "has lost it"
        )

    def test_a_call_without_an_answer_fails(self) -> None:
        _, client = self.start(silent, PATIENT)
        be(client, timeout_ms=100)
        self.assert_fails(client.status, "unavailable", "endpoint", "within 100 ms")

    def test_a_call_without_an_answer_leaves_others_alone(self) -> None:
        running: list[Reply] = []

        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, GenerateRequest):
                running.append(reply)
            elif running:
                running[0](Delta("alive", False))

        _, client = self.start(handle, PATIENT)
        stream = client.stream(prompt("x"))
        failed: list[CascadeError] = []

        def call() -> None:
            try:
                client.status()
            except CascadeError as error:
                failed.append(error)

        calling = threading.Thread(target=call)
        calling.start()
        self.assertEqual(next(stream), Delta("alive", False))  # since the call was sent
        be(client, timeout_ms=1)
        calling.join(PATIENCE_S)
        self.assertEqual([error.message for error in failed],
                         ["the daemon did not answer within 1 ms"])
        be(client, timeout_ms=PATIENT.timeout_ms)
        running[0](final_of("end"))
        self.assertEqual(stream.result().text, "end")

    def test_slow_work_is_waited_for_as_long_as_pings_are_answered(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, FsckRequest):
                slow.append(reply)
            else:
                slow[0](FsckReply([], 0, 0, 1, 2))
                reply(SessionListReply([]))

        slow: list[Reply] = []
        daemon, client = self.start(handle, PATIENT)
        answers: list[FsckReply] = []
        fsck = threading.Thread(target=lambda: answers.append(client.fsck()))
        fsck.start()
        until(lambda: slow)
        # A call would fail at the next look at it, of which there are two in a second.
        be(client, timeout_ms=1)
        fsck.join(0.8)
        self.assertTrue(fsck.is_alive())
        be(client, timeout_ms=PATIENT.timeout_ms, silence_ms=20)
        before = daemon.pings
        until(lambda: daemon.pings >= before + 3)
        self.assertTrue(fsck.is_alive())
        client.list_sessions()
        fsck.join(PATIENCE_S)
        self.assertEqual(answers, [FsckReply([], 0, 0, 1, 2)])

    def test_a_client_that_is_closed_says_so(self) -> None:
        _, client = self.start(silent)
        stream = client.stream(prompt("x"))
        failed: list[CascadeError] = []

        def wait() -> None:
            try:
                stream.result()
            except CascadeError as error:
                failed.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        client.close()
        client.close()
        waiting.join(PATIENCE_S)
        self.assertEqual([str(error) for error in failed],
                         ["unavailable: endpoint: the client was closed"])
        self.assert_fails(client.ping, "unavailable", "endpoint", "was closed")
        self.assert_fails(stream.cancel, "unavailable", "endpoint", "was closed")

    def test_a_fork_cannot_use_it(self) -> None:
        _, client = self.start(echo)
        child = os.fork()
        if child == 0:
            try:
                client.ping()
            except CascadeError as error:
                os._exit(7 if "forked" in error.message else 8)
            os._exit(9)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        client.ping()


class WrongAnswerTest(ClientTest):
    def test_what_cannot_be_decoded_fails_its_request_only(self) -> None:
        running: list[Reply] = []

        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, CancelRequest):
                return reply(Ack())  # the daemon is told that nobody waits any more
            assert isinstance(envelope.message, GenerateRequest)
            if envelope.message.prompt == "stays":
                return running.append(reply)
            if envelope.message.prompt == "garbled":
                header = encode(reply.request_id, Accepted(0))[0]
                for _ in range(3):
                    reply.frames([header, reply.request_id, b"\xc1"])
                return None
            if envelope.message.prompt == "later":
                return reply.frames([b"CAS1\1\xc8\0\0", reply.request_id, b"\x80"])
            return echo(envelope, reply)

        daemon, client = self.start(handle)
        other = client.stream(prompt("stays"))
        self.assert_fails(lambda: client.generate(prompt("garbled")), "internal", "reply", "body")
        self.assert_fails(lambda: client.generate(prompt("later")), "unsupported", "reply", "200")
        self.assertEqual(client.generate(prompt("x")).text, "x")
        cancelled = [one for one in daemon.received if isinstance(one, CancelRequest)]
        self.assertEqual(len(cancelled), 2)  # the daemon may still be at what failed here
        running[0](final_of("stays"))
        self.assertEqual(other.result().text, "stays")

    def test_what_belongs_to_no_request_ends_the_connection(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply.frames([b"garbage"])

        _, client = self.start(handle)
        self.assert_fails(
            lambda: client.generate(prompt("x")),
            "unavailable",
            "endpoint",
            "does not follow the protocol",
        )

    def test_messages_beyond_the_limits_end_the_connection(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply.frames([*encode(reply.request_id, Accepted(0)), *[b""] * 4096])

        _, client = self.start(handle)
        self.assert_fails(
            lambda: client.generate(prompt("x")), "unavailable", "endpoint", "the limits"
        )

    def test_answers_to_another_question_are_told(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, GenerateRequest):
                prefix = PrefixReply("prefix_1", 1, 1, 0, 1, Miss())
                return reply(prefix if envelope.message.prompt == "prefix" else Pong("b", "v"))
            if isinstance(envelope.message, PrefixCache):
                return reply(final_of("x"))
            return reply(Pong("boot_1", "test"))

        _, client = self.start(handle)
        wrong: list[tuple[Callable[[], object], str]] = [
            (lambda: client.generate(prompt("x")), "Pong"),
            (lambda: client.generate(prompt("prefix")), "PrefixReply"),
            (lambda: client.cache_prefix(PrefixCache(prompt="x")), "Final"),
            (lambda: client.status(), "Pong"),
        ]
        for work, name in wrong:
            self.assert_fails(work, "internal", "reply", name)

    def test_damaged_answers_never_leave_a_request_without_an_end(self) -> None:
        seed = new_seed()
        draw = random.Random(seed)

        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, CancelRequest):
                return reply(Ack())
            frames = [bytearray(one) for one in encode(reply.request_id, final_of("damaged"))]
            for _ in range(draw.randint(1, 3)):
                frame = draw.choice(frames)
                frame[draw.randrange(len(frame))] = draw.randrange(256)
            reply.frames([bytes(frame) for frame in frames])
            return reply(final_of("whole"))

        _, client = self.start(handle)
        refused = 0
        for _ in range(500):
            try:
                client.generate(prompt("x"))
            except CascadeError as error:
                self.assertIn(error.code, ("internal", "unsupported", "unavailable"), seed)
                refused += 1
        self.assertGreater(refused, 50, seed)

    def test_answers_that_come_too_late_are_passed_over(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply.to(bytes(16), Ack())
            reply.to(bytes(16), Delta("x", False))
            if isinstance(envelope.message, SessionListRequest):
                reply(SessionListReply([]))

        _, client = self.start(handle)
        self.assertEqual(client.list_sessions(), [])

    def test_pages_of_a_list_end_even_if_the_daemon_says_otherwise(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply(ChunkListReply(chunks=[], token_counts=[], more=True))

        _, client = self.start(handle)
        self.assertEqual(client.list_all_chunks(), [])


if __name__ == "__main__":
    unittest.main()
