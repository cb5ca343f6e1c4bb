"""Client: streams, cancellation, threads, and daemons that answer wrongly, late or no more."""

from __future__ import annotations

import gc
import inspect
import os
import re
import threading
import unittest
from collections.abc import Callable
from typing import Any

import cascade_llm
from cascade_llm import AsyncClient, Client, ClientOptions, GenerateRequest, PrefixCache
from cascade_llm.errors import CascadeError
from cascade_llm.frames import Envelope, encode
from cascade_llm.replies import (
    Accepted,
    Ack,
    ChunkListReply,
    Delta,
    ErrorInfo,
    ErrorReply,
    Final,
    FsckReply,
    Miss,
    Pong,
    PrefixReply,
    Progress,
    SessionListReply,
)
from cascade_llm.requests import CancelRequest, FsckRequest, SessionListRequest
from support import PATIENCE_S, ROOT, FakeDaemon, Reply, final_of, prompt

# Of daemons that are meant to be found silent. What must come in time has seconds for it.
IMPATIENT = ClientOptions(timeout_ms=1500, silence_ms=30, lost_ms=60_000)


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


class StreamTest(ClientTest):
    def test_events_come_in_order_and_end_with_the_final(self) -> None:
        events = [
            Accepted(2),
            Progress(10, 5),
            Delta("hmm", True),
            Delta("Par", False),
            Delta("is", False),
            final_of("Paris", reasoning="hmm", token_ids=[1, 2, 3]),
        ]

        def handle(envelope: Envelope, reply: Reply) -> None:
            for event in events:
                reply(event)

        daemon, client = self.start(handle)
        stream = client.stream(prompt("x"))
        self.assertEqual(list(stream), events)
        self.assertEqual(stream.final, events[-1])
        self.assertEqual(stream.result(), events[-1])
        self.assertEqual(list(stream), [])
        request = daemon.received[0]
        assert isinstance(request, GenerateRequest)
        self.assertTrue(request.stream)

    def test_the_caller_s_request_stays_as_it_was(self) -> None:
        _, client = self.start(echo)
        request = prompt("x")
        client.generate(request)
        self.assertEqual(request, prompt("x"))

    def test_an_error_ends_it_wherever_it_comes(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply(Accepted(0))
            reply(Delta("a", False))
            reply(ErrorReply(ErrorInfo("resource_exhausted", "memory", "is full"), 70))

        _, client = self.start(handle)
        stream = client.stream(prompt("x"))
        self.assertIsInstance(next(stream), Accepted)
        for _ in range(2):  # and again
            error = self.assert_fails(stream.result, "resource_exhausted", "memory", "is full")
            self.assertEqual(error.retry_after_ms, 70)
        client.ping()

    def test_many_are_in_flight_and_end_in_any_order(self) -> None:
        waiting: list[tuple[str, Reply]] = []

        def handle(envelope: Envelope, reply: Reply) -> None:
            assert isinstance(envelope.message, GenerateRequest)
            waiting.append((envelope.message.prompt or "", reply))
            if len(waiting) == 40:
                for text, answer in reversed(waiting):
                    answer(Delta(text, False))
                for text, answer in waiting[::2] + waiting[1::2]:
                    answer(final_of(text))

        _, client = self.start(handle)
        streams = [client.stream(prompt(str(i))) for i in range(40)]
        self.assertEqual([stream.result().text for stream in streams], list(map(str, range(40))))

    def test_threads_share_a_client(self) -> None:
        _, client = self.start(echo)
        wrong: list[object] = []

        def work(number: int) -> None:
            for i in range(20):
                text = f"{number}.{i}"
                if client.generate(prompt(text)).text != text:
                    wrong.append(text)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual(wrong, [])
        self.assertFalse(any(thread.is_alive() for thread in threads))

    def test_a_batch_has_a_result_or_an_error_for_each(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            assert isinstance(envelope.message, GenerateRequest)
            if envelope.message.prompt == "bad":
                return reply(ErrorReply(ErrorInfo("invalid_argument", "prompt", "is bad"), 0))
            return echo(envelope, reply)

        _, client = self.start(handle)
        too_long: Any = 5
        requests = [prompt("a"), prompt("bad"), prompt("c"), prompt(too_long)]
        first, second, third, fourth = client.generate_batch(requests)
        assert isinstance(first, Final) and isinstance(third, Final)
        self.assertEqual((first.text, third.text), ("a", "c"))
        self.assertEqual(str(second), "invalid_argument: prompt: is bad")
        self.assertEqual(str(fourth), "invalid_argument: prompt: must be a string")
        self.assertEqual(client.generate_batch([]), [])
        many = [prompt("x")] * 257
        self.assert_fails(
            lambda: client.generate_batch(many), "invalid_argument", "requests", "256"
        )

    def test_a_timeout_leaves_the_generation_running(self) -> None:
        go_on = threading.Event()

        def handle(envelope: Envelope, reply: Reply) -> None:
            go_on.wait(PATIENCE_S)
            echo(envelope, reply)

        _, client = self.start(handle)
        stream = client.stream(prompt("late"))
        with self.assertRaises(TimeoutError):
            stream.result(timeout_s=0.01)
        go_on.set()
        self.assertEqual(stream.result().text, "late")


class CancelTest(ClientTest):
    def test_a_stream_ends_with_the_text_so_far(self) -> None:
        _, client = self.start(until_cancelled())
        stream = client.stream(prompt("x"))
        for event in stream:
            if isinstance(event, Delta):
                stream.cancel()
        assert stream.final is not None
        self.assertEqual((stream.final.text, stream.final.finish_reason), ("first", "cancelled"))
        stream.cancel()  # does nothing

    def test_another_thread_may_cancel(self) -> None:
        _, client = self.start(until_cancelled())
        stream = client.stream(prompt("x"))
        next(stream)
        threading.Thread(target=stream.cancel).start()
        self.assertEqual(stream.result().finish_reason, "cancelled")

    def test_a_request_id_is_enough(self) -> None:
        _, client = self.start(until_cancelled())
        stream = client.stream(prompt("x"))
        client.cancel(stream.request_id)
        self.assertEqual(stream.result().finish_reason, "cancelled")
        self.assert_fails(lambda: client.cancel(stream.request_id), "not_found", "target")
        self.assert_fails(lambda: client.cancel(b"short"), "invalid_argument", "target")

    def test_leaving_or_dropping_a_stream_cancels_it(self) -> None:
        cancelled = threading.Semaphore(0)
        handle = until_cancelled()

        def note(envelope: Envelope, reply: Reply) -> None:
            handle(envelope, reply)
            if isinstance(envelope.message, CancelRequest):
                cancelled.release()

        _, client = self.start(note)
        with client.stream(prompt("x")):
            pass
        self.assertTrue(cancelled.acquire(timeout=PATIENCE_S))
        dropped = client.stream(prompt("x"))
        next(dropped)
        del dropped
        gc.collect()
        self.assertTrue(cancelled.acquire(timeout=PATIENCE_S))

    def test_a_daemon_that_confirms_no_cancellation_is_lost(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply(Accepted(0))

        _, client = self.start(handle, ClientOptions(timeout_ms=1500))
        stream = client.stream(prompt("x"))
        stream.cancel()
        self.assert_fails(stream.result, "unavailable", "endpoint", "confirm a cancellation")


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
        daemon, client = self.start(silent, IMPATIENT)
        stream = client.stream(prompt("x"))
        daemon.boot_id = "boot_2"
        self.assert_fails(stream.result, "unavailable", "endpoint", "was restarted")

    def test_a_daemon_that_is_silent_is_lost(self) -> None:
        daemon, client = self.start(silent, IMPATIENT)
        stream = client.stream(prompt("x"))
        daemon.answers_pings = False
        self.assert_fails(stream.result, "unavailable", "endpoint", "did not answer")

    def test_a_generation_that_the_daemon_forgot_is_lost(self) -> None:
        options = ClientOptions(timeout_ms=5000, silence_ms=30, lost_ms=400)
        _, client = self.start(silent, options)
        self.assert_fails(
            lambda: client.generate(prompt("x")), "unavailable", "endpoint", "has lost it"
        )

    def test_a_call_without_an_answer_fails(self) -> None:
        _, client = self.start(silent, ClientOptions(timeout_ms=1500))
        self.assert_fails(client.status, "unavailable", "endpoint", "within 1500 ms")

    def test_a_call_without_an_answer_leaves_others_alone(self) -> None:
        running: list[Reply] = []

        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, GenerateRequest):
                running.append(reply)
            elif running:
                running[0](Delta("alive", False))

        _, client = self.start(handle, ClientOptions(timeout_ms=1500))
        stream = client.stream(prompt("x"))
        self.assert_fails(client.status, "unavailable", "endpoint", "within 1500 ms")
        self.assertEqual(next(stream), Delta("alive", False))
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
        _, client = self.start(handle, ClientOptions(timeout_ms=1500, silence_ms=20))
        answers: list[FsckReply] = []
        fsck = threading.Thread(target=lambda: answers.append(client.fsck()))
        fsck.start()
        fsck.join(1.8)
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
        def handle(envelope: Envelope, reply: Reply) -> None:
            if isinstance(envelope.message, CancelRequest):
                return reply(Ack())  # the daemon is told that nobody waits any more
            assert isinstance(envelope.message, GenerateRequest)
            if envelope.message.prompt == "garbled":
                header = encode(reply.request_id, Accepted(0))[0]
                return reply.frames([header, reply.request_id, b"\xc1"])
            if envelope.message.prompt == "later":
                return reply.frames([b"CAS1\1\xc8\0\0", reply.request_id, b"\x80"])
            return echo(envelope, reply)

        _, client = self.start(handle)
        self.assert_fails(lambda: client.generate(prompt("garbled")), "internal", "reply", "body")
        self.assert_fails(lambda: client.generate(prompt("later")), "unsupported", "reply", "200")
        self.assertEqual(client.generate(prompt("x")).text, "x")

    def test_what_belongs_to_no_request_ends_the_connection(self) -> None:
        def handle(envelope: Envelope, reply: Reply) -> None:
            reply.frames([b"garbage"])

        _, client = self.start(handle)
        self.assert_fails(
            lambda: client.generate(prompt("x")), "unavailable", "endpoint", "none of this protocol"
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


class ConnectTest(unittest.TestCase):
    def test_a_socket_that_never_answers_is_no_daemon(self) -> None:
        with FakeDaemon(silent) as daemon:
            daemon.answers_pings = False
            with self.assertRaises(CascadeError) as failed:
                Client(daemon.endpoint, options=ClientOptions(timeout_ms=300))
            self.assertIn("did not answer within 300 ms", failed.exception.message)

    def test_an_endpoint_that_is_none_is_refused(self) -> None:
        threads = threading.active_count()
        with self.assertRaises(CascadeError) as failed:
            Client("/run/cascaded/cascaded.sock")
        self.assertEqual(failed.exception.code, "invalid_argument")
        self.assertEqual(threading.active_count(), threads)

    def test_a_client_that_nobody_refers_to_ends_its_thread(self) -> None:
        with FakeDaemon(echo) as daemon:
            threads = threading.active_count()
            Client(daemon.endpoint).ping()
            gc.collect()
            self.assertEqual(threading.active_count(), threads)

    def test_a_stream_keeps_its_client(self) -> None:
        with FakeDaemon(echo) as daemon:
            self.assertEqual(Client(daemon.endpoint).stream(prompt("x")).result().text, "x")


class NamesTest(unittest.TestCase):
    def test_both_clients_have_the_same_methods(self) -> None:
        def methods(of: type[object]) -> dict[str, list[str]]:
            return {
                name: list(inspect.signature(member).parameters)
                for name, member in inspect.getmembers(of, callable)
                if not name.startswith("_")
            }

        self.assertEqual(methods(Client), methods(AsyncClient))
        for name in methods(Client):
            self.assertEqual(
                str(inspect.signature(getattr(Client, name))).split(" -> ")[0],
                str(inspect.signature(getattr(AsyncClient, name))).split(" -> ")[0],
            )

    def test_they_have_the_names_of_the_cpp_client(self) -> None:
        header = (ROOT / "clients" / "cpp" / "client.h").read_text()
        public = header[header.index("class Client {") : header.index("\n private:")]
        names = set(re.findall(r"^  [\w:]\S.*? ([a-z_]+)\(", public, re.MULTILINE))
        names.discard("retry_after_ms")  # of the error, not of the client
        self.assertGreater(len(names), 30, names)
        for name in sorted(names):
            self.assertTrue(hasattr(Client, name), name)

    def test_the_version_is_that_of_the_project(self) -> None:
        cmake = (ROOT / "CMakeLists.txt").read_text()
        pyproject = (ROOT / "clients" / "python" / "pyproject.toml").read_text()
        version = cascade_llm.__version__
        self.assertIn(f" VERSION {version}", cmake)
        self.assertIn(f'version = "{version}"', pyproject)


if __name__ == "__main__":
    unittest.main()
